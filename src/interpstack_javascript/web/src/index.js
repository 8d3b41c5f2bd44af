// Entry point: puts the web basics on the global object through kernel.define.
//
// All of this runs once, before guest code. What timers and signals need of the intrinsics is captured here, so
// that guest code that replaces or pollutes them later cannot make a kernel callback throw.
import { installAbort } from "./abort.js";
import { atob, btoa } from "./base64.js";
import { createCrypto } from "./crypto.js";
import { createDOMException } from "./domexception.js";
import { createEncoding } from "./encoding.js";
import { createEvents } from "./events.js";
import { createPerformance } from "./performance.js";
import { createStructuredClone } from "./structured-clone.js";
import { createTimers } from "./timers.js";
import { realm } from "./url.js";

export function install(kernel) {
  const global = globalThis;
  const define = (name, value) => {
    // The bundler may have renamed it.
    if (typeof value === "function") Object.defineProperty(value, "name", { value: name });
    kernel.define(name, value);
  };
  const add = entries => {
    for (const name of Object.keys(entries)) define(name, entries[name]);
  };
  const addMissing = (name, make) => {
    if (typeof global[name] !== "function") define(name, make());
    return global[name];
  };

  // The error channel: it must not throw either.
  const report = error => {
    try {
      kernel.report(error);
    } catch {}
  };

  const DOMException = addMissing("DOMException", createDOMException);
  addMissing("atob", () => atob(DOMException));
  addMissing("btoa", () => btoa(DOMException));

  const timers = createTimers(kernel, report);
  add(timers.globals);
  addMissing("queueMicrotask", () => timers.queueMicrotask);

  const events = createEvents(kernel, report, DOMException);
  const { Event, EventTarget } = events;
  const abort = installAbort(kernel, report, DOMException, events);
  const { AbortController, AbortSignal } = abort;
  add({ Event, EventTarget, AbortController, AbortSignal });

  const { TextDecoder, TextEncoder } = createEncoding();
  const { URL, URLSearchParams } = realm;
  add({ TextEncoder, TextDecoder, URL, URLSearchParams });
  const crypto = createCrypto(kernel, DOMException);
  const performance = createPerformance(kernel);
  add({ crypto, performance });

  // Objects of these kinds are platform objects that cannot be cloned.
  const platform = [
    URL, URLSearchParams, TextEncoder, TextDecoder, Event, EventTarget, AbortController,
    crypto.constructor, performance.constructor,
  ];
  add({ structuredClone: createStructuredClone(DOMException, platform) });
}
