// Runs the tests of a project, has an agent mend what fails, and runs them again.
import { exec } from "workflow:sandbox";

export const meta = {
  name: "fix",
  description: "Runs tests in a sandbox and has an agent mend the project until they pass",
  argsSchema: {
    type: "object",
    properties: {
      command: { type: "string" },
      args: { type: "array", items: { type: "string" } },
      attempts: { type: "integer", minimum: 1, maximum: 10 },
    },
    required: ["command", "args", "attempts"],
    additionalProperties: false,
  },
};

const OUTPUT_CHARS = 4000; // the end of an output, which has the failures
const CHANGE = {
  type: "object",
  properties: {
    path: { type: "string", minLength: 1 },
    find: { type: "string", minLength: 1 },
    replace: { type: "string" },
    why: { type: "string" },
  },
  required: ["path", "find", "replace", "why"],
  additionalProperties: false,
};

export default async ({ command, args, attempts }) => {
  const changes = [];
  for (let attempt = 1; ; attempt++) {
    phase(`Attempt ${attempt}`);
    // A finished command is never repeated. If the host dies in the middle of one, the run fails there as
    // ExecInterrupted; tests may run again, so that the host resumes it with retry_failed=True.
    const tested = await exec("local/project", { command, args });
    if (tested.exitCode === 0) return { ok: true, changes };
    const output = `${tested.stdout}\n${tested.stderr}`.slice(-OUTPUT_CHARS);
    if (attempt > attempts) return { ok: false, changes, output };
    const change = await agent(`Mend the project by one change, as JSON.\n${JSON.stringify({ output, changes })}`, {
      agentType: "fixer",
      label: `attempt ${attempt}`,
      schema: CHANGE,
    });
    // The editor refuses what it cannot do; the fixer learns of it at the next attempt.
    const [applied] = await parallel.settled([() => agent(JSON.stringify(change), { agentType: "editor", label: change.path })]);
    changes.push({ ...change, applied: applied.ok, error: applied.ok ? null : applied.error.message });
  }
};
