// A person decides on a text before it goes out; then the run sleeps, and any process may wake it.
import { ask, sleep } from "workflow:extra";

export const meta = {
  name: "announce",
  description: "Writes an announcement, has a person approve it, and sends it later",
  phases: [{ title: "Write" }, { title: "Approve" }, { title: "Send" }],
  argsSchema: {
    type: "object",
    properties: { topic: { type: "string", minLength: 1 }, delayMs: { type: "integer", minimum: 0 } },
    required: ["topic", "delayMs"],
    additionalProperties: false,
  },
};

const DAY_MS = 24 * 60 * 60 * 1000;
const VERSIONS = 3;

export default async ({ topic, delayMs }) => {
  phase("Write");
  let text = await agent(`Write an announcement of: ${topic}`, { agentType: "writer" });

  phase("Approve");
  for (let version = 1; ; version++) {
    // Nobody answers for two days: nothing is sent.
    const decision = await ask(`Send this?\n${text}`, {
      choices: version < VERSIONS ? ["send", "change", "stop"] : ["send", "stop"],
      timeoutMs: 2 * DAY_MS,
      default: "stop",
    });
    if (decision === "stop") return { sent: false, version };
    if (decision === "send") break;
    const wish = await ask("What is to change?");
    if (typeof wish !== "string") throw new TypeError(`the change has to be text; it is ${JSON.stringify(wish)}`);
    text = await agent(`Change the announcement.\n${JSON.stringify({ text, wish })}`, { agentType: "writer" });
  }

  phase("Send");
  await sleep(delayMs); // time to cancel the run
  const receipt = await agent(text, { agentType: "sender", label: "send" });
  return { sent: true, receipt, text };
};
