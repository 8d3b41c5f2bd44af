// Event and EventTarget: a flat event system (no tree, so no bubbling), as much as AbortSignal needs.
const { apply } = Reflect;
const { defineProperty } = Object;
const TypeErrorCtor = TypeError;

export function createEvents(kernel, report, DOMException) {
  const phases = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 };
  let begin, end, isDispatching, isStopped, isCanceled, setPassive, trust, fire, listen, addAbortAlgorithm;

  class Event {
    #type;
    #bubbles = false;
    #cancelable = false;
    #composed = false;
    #target = null;
    #dispatching = false;
    #stopped = false;
    #stoppedNow = false;
    #canceled = false;
    #passive = false;
    #trusted = false;
    #timeStamp = kernel.now() - kernel.timeOrigin();

    constructor(type, init = undefined) {
      if (arguments.length < 1) throw new TypeErrorCtor("Event: 1 argument required");
      // Not always a template: some engines make those with String.prototype.concat, which the guest can replace.
      this.#type = typeof type === "string" ? type : `${type}`;
      if (init !== undefined && init !== null) {
        if (typeof init !== "object" && typeof init !== "function") {
          throw new TypeErrorCtor("Event: the second argument must be an object");
        }
        this.#bubbles = !!init.bubbles;
        this.#cancelable = !!init.cancelable;
        this.#composed = !!init.composed;
      }
    }

    static {
      begin = (event, target) => {
        event.#target = target;
        event.#dispatching = true;
      };
      end = event => {
        event.#dispatching = event.#passive = event.#stopped = event.#stoppedNow = false;
      };
      isDispatching = event => event.#dispatching;
      // Before the first listener, "stopped" is enough; between listeners only the immediate form counts.
      isStopped = (event, now) => (now ? event.#stoppedNow : event.#stopped);
      isCanceled = event => event.#canceled;
      setPassive = (event, passive) => {
        event.#passive = passive;
      };
      trust = event => {
        event.#trusted = true;
        return event;
      };
    }

    get type() {
      return this.#type;
    }

    get target() {
      return this.#target;
    }

    get srcElement() {
      return this.#target;
    }

    get currentTarget() {
      return this.#dispatching ? this.#target : null;
    }

    get eventPhase() {
      return this.#dispatching ? 2 : 0;
    }

    get bubbles() {
      return this.#bubbles;
    }

    get cancelable() {
      return this.#cancelable;
    }

    get composed() {
      return this.#composed;
    }

    get defaultPrevented() {
      return this.#canceled;
    }

    get returnValue() {
      return !this.#canceled;
    }

    get isTrusted() {
      return this.#trusted;
    }

    get timeStamp() {
      return this.#timeStamp;
    }

    get cancelBubble() {
      return this.#stopped;
    }

    composedPath() {
      return this.#dispatching ? [this.#target] : [];
    }

    preventDefault() {
      if (this.#cancelable && !this.#passive) this.#canceled = true;
    }

    stopPropagation() {
      this.#stopped = true;
    }

    stopImmediatePropagation() {
      this.#stopped = this.#stoppedNow = true;
    }
  }
  for (const name of Object.keys(phases)) {
    for (const owner of [Event, Event.prototype]) {
      defineProperty(owner, name, { value: phases[name], enumerable: true });
    }
  }

  function flatten(options) {
    if (typeof options === "boolean") return { __proto__: null, capture: options };
    if (options === undefined || options === null) return { __proto__: null };
    if (typeof options !== "object" && typeof options !== "function") return { __proto__: null, capture: !!options };
    return options;
  }

  class EventTarget {
    // Replaced on change, never changed in place: a running dispatch keeps the list that it began with.
    // No prototype: immune to what the guest does to Array.prototype.
    #listeners = { __proto__: null, length: 0 };

    static #find(list, type, callback, capture) {
      for (let i = 0; i < list.length; i++) {
        const entry = list[i];
        if (entry.type === type && entry.callback === callback && entry.capture === capture) return entry;
      }
      return null;
    }

    #remove(entry) {
      const list = { __proto__: null, length: 0 };
      for (let i = 0; i < this.#listeners.length; i++) {
        const other = this.#listeners[i];
        if (other !== entry) list[list.length++] = other;
      }
      entry.removed = true;
      this.#listeners = list;
    }

    #append(entry) {
      const list = { __proto__: null, length: 0 };
      const old = this.#listeners;
      for (let i = 0; i < old.length; i++) list[list.length++] = old[i];
      list[list.length++] = entry;
      this.#listeners = list;
    }

    addEventListener(type, callback, options = undefined) {
      const target = this;
      target.#listeners;
      if (arguments.length < 2) throw new TypeErrorCtor("addEventListener: 2 arguments required");
      type = `${type}`;
      const flat = flatten(options);
      const capture = !!flat.capture;
      const once = !!flat.once;
      const passive = !!flat.passive;
      const { signal } = flat;
      if (signal !== undefined && !addAbortAlgorithm(signal, null)) {
        throw new TypeErrorCtor("addEventListener: the signal must be an AbortSignal");
      }
      if (callback === null || callback === undefined) return;
      if (typeof callback !== "function" && typeof callback !== "object") {
        throw new TypeErrorCtor("addEventListener: the callback must be a function or an object");
      }
      if (signal !== undefined && signal.aborted) return;
      if (EventTarget.#find(target.#listeners, type, callback, capture)) return;
      const entry = { __proto__: null, type, callback, capture, once, passive, removed: false };
      target.#append(entry);
      if (signal !== undefined) addAbortAlgorithm(signal, () => target.#remove(entry));
    }

    removeEventListener(type, callback, options = undefined) {
      this.#listeners;
      if (arguments.length < 2) throw new TypeErrorCtor("removeEventListener: 2 arguments required");
      const entry = EventTarget.#find(this.#listeners, `${type}`, callback, !!flatten(options).capture);
      if (entry) this.#remove(entry);
    }

    dispatchEvent(event) {
      this.#listeners;
      if (arguments.length < 1) throw new TypeErrorCtor("dispatchEvent: 1 argument required");
      if (typeof event !== "object" || event === null || !(event instanceof Event)) {
        throw new TypeErrorCtor("dispatchEvent: the argument must be an Event");
      }
      if (isDispatching(event)) {
        throw new DOMException("The event is already being dispatched", "InvalidStateError");
      }
      return this.#dispatch(event);
    }

    #dispatch(event) {
      begin(event, this);
      for (let pass = 0; pass < 2; pass++) {
        if (isStopped(event, false)) break;
        const list = this.#listeners;
        for (let i = 0; i < list.length; i++) {
          const entry = list[i];
          if (entry.removed || entry.type !== event.type || entry.capture !== (pass === 0)) continue;
          if (entry.once) this.#remove(entry);
          setPassive(event, entry.passive);
          try {
            const { callback } = entry;
            if (typeof callback === "function") {
              apply(callback, this, [event]);
            } else {
              const { handleEvent } = callback;
              if (typeof handleEvent !== "function") throw new TypeErrorCtor("handleEvent is not a function");
              apply(handleEvent, callback, [event]);
            }
          } catch (error) {
            report(error);
          }
          setPassive(event, false);
          if (isStopped(event, true)) break;
        }
      }
      end(event);
      return !isCanceled(event);
    }

    // For AbortSignal: not reachable, and so not replaceable, from guest code.
    static {
      fire = (target, type) => target.#dispatch(trust(new Event(type)));
      listen = (target, type, callback) => {
        const entry = { __proto__: null, type, callback, capture: false, once: false, passive: false, removed: false };
        target.#append(entry);
        return () => target.#remove(entry);
      };
    }
  }

  expose(Event, "Event");
  expose(EventTarget, "EventTarget");
  return {
    Event,
    EventTarget,
    fire: (target, type) => fire(target, type),
    listen: (target, type, callback) => listen(target, type, callback),
    setAbortAlgorithms(add) {
      addAbortAlgorithm = add;
    },
  };
}

// Web IDL: the members of an interface are enumerable, its tag is not.
export function expose(Class, name) {
  const { prototype } = Class;
  for (const key of Object.getOwnPropertyNames(prototype)) {
    if (key !== "constructor") defineProperty(prototype, key, { enumerable: true });
  }
  defineProperty(prototype, Symbol.toStringTag, { value: name, configurable: true });
}
