// A page to talk to the agent: one thread, over one WebSocket. What comes from the server is shown as
// text only.

const $ = (id) => document.getElementById(id);
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (n) => n.toString(16).padStart(2, "0")).join("");
const thread = decodeURIComponent(location.hash.slice(1)) || newId();
const path = `/threads/${encodeURIComponent(thread)}`;
let socket, running = false;

function element(name, text = "", kind = "") {
  const made = document.createElement(name);
  made.textContent = text;
  made.className = kind;
  return made;
}

function show(kind, text) {
  const line = element("li", text, kind);
  $("talk").append(line);
  line.scrollIntoView({ block: "nearest" });
  return line;
}

function setRunning(value, status = "") {
  running = value;
  $("send").disabled = value;
  $("stop").hidden = !value;
  $("status").textContent = status;
}

function connect() {
  const url = new URL(`${path}/live`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  socket = new WebSocket(url);
  socket.onmessage = ({ data }) => receive(JSON.parse(data));
  // The server cancels a turn whose client leaves; `reload` offers to continue it.
  socket.onclose = () => {
    setRunning(false, "The connection was lost. Reconnecting…");
    setTimeout(() => { reload().catch(() => {}); connect(); }, 2000);
  };
}

function send(message, status) {
  if (socket.readyState !== WebSocket.OPEN) {
    $("status").textContent = "There is no connection yet. Try again in a moment.";
    return false;
  }
  socket.send(JSON.stringify(message));
  setRunning(true, status);
  return true;
}

const PHASES = { start: "runs", progress: "runs", complete: "done", error: "failed" };
const calls = new Map(); // their lines, by id

function receive({ event, data }) {
  if (event === "progress") {
    const line = calls.get(data.id) ?? show("call", "");
    calls.set(data.id, line);
    line.textContent = `${data.tool ?? data.subagent_type}: ${PHASES[data.phase]}${data.error ? ` (${data.error})` : ""}`;
  } else if (event === "missed") show("call", `${data.events} events were not shown`);
  else if (event === "answer") finish(() => show("agent", data.answer));
  else if (event === "questions") finish(() => ask(data.questions));
  else if (event === "stopped") finish(() => reload());
  else if (event === "error") {
    setRunning(false, data.detail);
    if (!data.retry) reload();
  }
}

function finish(then) {
  calls.clear();
  setRunning(false);
  then();
}

function ask(questions) {
  $("questions").replaceChildren(...questions.map(question));
  // No button gets the focus: a key that was meant for the message shall not approve.
  if (questions.length > 0) $("questions").focus();
}

// The question of an approval has the calls that wait; other questions have any value.
function question({ id, value }) {
  const box = document.createElement("div"), calls = value?.action_requests;
  if (!Array.isArray(calls)) {
    const field = element("fieldset"), input = element("textarea"), button = element("button", "Answer");
    input.setAttribute("aria-label", "Your answer");
    button.onclick = () => answer({ [id]: input.value });
    field.append(element("legend", "Question"), element("pre", JSON.stringify(value, null, 2)), input, button);
    box.append(field);
    return box;
  }
  const decisions = calls.map(() => undefined);
  calls.forEach((call, n) => {
    const allowed = value.review_configs?.find((one) => one.action_name === call.name)?.allowed_decisions ?? [];
    const field = element("fieldset"), input = element("textarea");
    input.value = JSON.stringify(call.args, null, 2);
    input.rows = Math.min(12, input.value.split("\n").length + 1);
    input.readOnly = !allowed.includes("edit");
    input.setAttribute("aria-label", `Arguments of ${call.name}`);
    field.append(element("legend", `May the agent call ${call.name}?`));
    if (call.description) field.append(element("p", call.description));
    const buttons = element("div", "", "buttons");
    field.append(input, buttons);
    const decide = (decision) => {
      decisions[n] = decision;
      field.disabled = true;
      if (!decisions.includes(undefined)) answer({ [id]: { decisions } });
    };
    const button = (name, make) => {
      const made = element("button", name);
      made.type = "button";
      made.onclick = () => { try { decide(make()); } catch (error) { $("status").textContent = error.message; } };
      buttons.append(made);
    };
    if (allowed.includes("approve")) button("Approve", () => {
      if (input.value !== JSON.stringify(call.args, null, 2)) throw new Error("The arguments were changed: send them as an edit.");
      return { type: "approve" };
    });
    if (allowed.includes("edit"))
      button("Approve as edited", () => ({ type: "edit", edited_action: { name: call.name, args: JSON.parse(input.value) } }));
    if (allowed.includes("reject")) button("Reject", () => ({ type: "reject" }));
    box.append(field);
  });
  return box;
}

function answer(answers) {
  if (send({ answers }, "The agent continues…")) $("questions").replaceChildren();
}

async function reload() {
  const response = await fetch(path);
  if (!response.ok) {
    $("status").textContent = `The thread cannot be read: ${response.status} ${(await response.json()).detail ?? ""}`;
    return;
  }
  const { messages, questions, unfinished } = await response.json();
  $("talk").replaceChildren();
  for (const message of messages) show(message.from, message.text);
  ask(questions);
  if (unfinished !== null && questions.length === 0 && !running) offer(messages.find((one) => one.id === unfinished));
}

function offer(turn) {
  const button = element("button", "Continue");
  button.onclick = () => {
    if (send({ id: turn.id, text: turn.text }, "The agent continues…")) button.remove();
  };
  $("status").replaceChildren("The last turn has not ended. ", button);
}

$("say").onsubmit = (event) => {
  event.preventDefault();
  const text = $("text").value.trim();
  if (running || text === "" || !send({ id: newId(), text }, "The agent works…")) return;
  show("user", text);
  $("text").value = "";
};
$("text").onkeydown = (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("say").requestSubmit();
  }
};
$("stop").onclick = () => socket.send(JSON.stringify({ stop: true }));
$("new").onclick = (event) => {
  event.preventDefault();
  location.hash = "";
};
$("thread").textContent = thread;
if (location.hash === "") history.replaceState(null, "", `#${thread}`);
window.onhashchange = () => location.reload();
await reload();
connect();
