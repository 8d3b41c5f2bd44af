// Stops of the guest: SIGINT ends the script that holds it, and no signal reaches a later command.
//
// Node's watchdog for SIGINT stays on, so the system's handler never changes. A thread of Node's takes
// each signal: it ends the script that is watched, or notes that there was a signal while none was.
// The host counts the signals that it sends, and this counts those that have been seen; the host sends
// no command before the two agree.
(require, startSigintWatchdog, stopSigintWatchdog) => {
  "use strict";
  const { Script } = require("node:vm"), { isProxy } = require("node:util").types;
  const CALL = "$interpstack"; // a global of this realm, for the script that SIGINT ends
  const PATIENCE = 1000; // times to look for a signal that the host has sent, a millisecond each
  const entry = new Script(`${CALL}()`, { filename: "interpstack:entry" });
  const bell = new Int32Array(new SharedArrayBuffer(4)), { wait } = Atomics;
  // Whether the guest was stopped and whether it imports something; shared with main.js, modules.js.
  const state = { interrupted: false, imported: false, loading: 0 };
  let seen = 0, inside = false, wanted;
  startSigintWatchdog();

  // Whether a signal came while no script was watched. The watchdog goes on, as it was started before.
  function look() {
    startSigintWatchdog();
    if (!stopSigintWatchdog()) return false;
    seen++;
    return state.interrupted = true;
  }
  // A signal from before is seen by the look, a later one ends the script: none is missed in between.
  globalThis[CALL] = () => { if (!look()) wanted(); };
  // Run something that may enter the guest; whether it came to its end. Within an entry, a signal ends
  // that one with all it has called.
  function enter(action) {
    if (state.interrupted) return false;
    if (inside) {
      action();
      return true;
    }
    wanted = action;
    inside = true;
    try {
      entry.runInThisContext({ breakOnSigint: true });
      return !state.interrupted;
    } catch (error) {
      if (!isInterruption(error)) throw error;
      seen++;
      state.interrupted = true;
      return false;
    } finally {
      inside = false;
    }
  }
  // Whether an error is one of this realm. A look at a guest's, even for its class, may run code of
  // the guest, which nothing stops here.
  function isOurs(error) {
    for (let at = error; typeof at === "object" && at !== null && !isProxy(at); at = Object.getPrototypeOf(at))
      if (at === Error.prototype) return true;
    return false;
  }
  const isInterruption = (error) => isOurs(error) && error.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED";
  return {
    state, enter, isOurs,
    isStopped: () => state.interrupted || look(),
    seen: () => seen,
    // Wait for the signals that the host has sent so far. One that is not seen in all that time is lost.
    settle(sent) {
      for (let i = 0; seen < sent && i < PATIENCE; i++) if (!look()) wait(bell, 0, 0, 1);
      seen = sent;
    },
  };
}
