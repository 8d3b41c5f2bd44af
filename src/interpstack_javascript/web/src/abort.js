// AbortController and AbortSignal.
import { expose } from "./events.js";

export function installAbort(kernel, report, DOMException, { EventTarget, fire, listen, setAbortAlgorithms }) {
  const { apply } = Reflect;
  const TypeErrorCtor = TypeError;
  const secret = {};
  let signalAbort, addAlgorithm;

  const abortError = () => new DOMException("This operation was aborted", "AbortError");

  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    #algorithms = { __proto__: null, length: 0 };
    #dependents = { __proto__: null, length: 0 };
    #dependent = false;
    // The signals that a dependent one follows.
    #sources = { __proto__: null, length: 0 };
    #onabort = null;
    #unlisten = null;

    constructor(key = undefined) {
      if (key !== secret) throw new TypeErrorCtor("Illegal constructor");
      super();
    }

    static {
      addAlgorithm = (value, algorithm) => {
        if (typeof value !== "object" || value === null || !(#aborted in value)) return false;
        if (algorithm && !value.#aborted) value.#algorithms[value.#algorithms.length++] = algorithm;
        return true;
      };
      signalAbort = (signal, reason) => {
        if (signal.#aborted) return;
        signal.#mark(reason);
        const { length } = signal.#dependents;
        const toRun = { __proto__: null, length: 0 };
        for (let i = 0; i < length; i++) {
          const dependent = signal.#dependents[i];
          if (dependent.#aborted) continue;
          dependent.#mark(signal.#reason);
          toRun[toRun.length++] = dependent;
        }
        signal.#dependents = { __proto__: null, length: 0 };
        signal.#run();
        for (let i = 0; i < toRun.length; i++) toRun[i].#run();
      };
    }

    #mark(reason) {
      this.#reason = reason === undefined ? abortError() : reason;
      this.#aborted = true;
    }

    #run() {
      const algorithms = this.#algorithms;
      this.#algorithms = { __proto__: null, length: 0 };
      for (let i = 0; i < algorithms.length; i++) {
        try {
          algorithms[i]();
        } catch (error) {
          report(error);
        }
      }
      fire(this, "abort");
    }

    static abort(reason = undefined) {
      const signal = new AbortSignal(secret);
      signal.#mark(reason);
      return signal;
    }

    static timeout(milliseconds) {
      if (arguments.length < 1) throw new TypeErrorCtor("AbortSignal.timeout: 1 argument required");
      // Web IDL "[EnforceRange] unsigned long long".
      let ms = +milliseconds;
      if (ms !== ms || ms === Infinity || ms === -Infinity) throw new TypeErrorCtor("AbortSignal.timeout: not a number");
      ms -= ms % 1;
      if (ms < 0 || ms > 9007199254740991) throw new TypeErrorCtor("AbortSignal.timeout: out of range");
      const signal = new AbortSignal(secret);
      kernel.timer(ms + 0, () => {
        try {
          signalAbort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
        } catch (error) {
          report(error);
        }
      });
      return signal;
    }

    static any(signals) {
      if (arguments.length < 1) throw new TypeErrorCtor("AbortSignal.any: 1 argument required");
      if ((typeof signals !== "object" && typeof signals !== "function") || signals === null) {
        throw new TypeErrorCtor("AbortSignal.any: the argument must be a sequence of signals");
      }
      const list = { __proto__: null, length: 0 };
      for (const signal of signals) {
        if (!addAlgorithm(signal, null)) throw new TypeErrorCtor("AbortSignal.any: not an AbortSignal");
        list[list.length++] = signal;
      }
      const result = new AbortSignal(secret);
      for (let i = 0; i < list.length; i++) {
        if (list[i].#aborted) {
          result.#mark(list[i].#reason);
          return result;
        }
      }
      // Dependents are held strongly: a signal that outlives many combined ones keeps them until it is aborted.
      result.#dependent = true;
      for (let i = 0; i < list.length; i++) {
        const signal = list[i];
        if (!signal.#dependent) {
          result.#follow(signal);
        } else {
          for (let k = 0; k < signal.#sources.length; k++) result.#follow(signal.#sources[k]);
        }
      }
      return result;
    }

    #follow(source) {
      for (let i = 0; i < this.#sources.length; i++) if (this.#sources[i] === source) return;
      this.#sources[this.#sources.length++] = source;
      source.#dependents[source.#dependents.length++] = this;
    }

    get aborted() {
      return this.#aborted;
    }

    get reason() {
      return this.#reason;
    }

    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }

    get onabort() {
      return this.#onabort;
    }

    set onabort(handler) {
      const isObject = typeof handler === "function" || (typeof handler === "object" && handler !== null);
      this.#onabort = isObject ? handler : null;
      if (isObject && !this.#unlisten) {
        const signal = this;
        this.#unlisten = listen(signal, "abort", event => {
          if (typeof signal.#onabort === "function") apply(signal.#onabort, signal, [event]);
        });
      } else if (!isObject && this.#unlisten) {
        this.#unlisten();
        this.#unlisten = null;
      }
    }
  }

  class AbortController {
    #signal = new AbortSignal(secret);

    get signal() {
      return this.#signal;
    }

    abort(reason = undefined) {
      signalAbort(this.#signal, reason);
    }
  }

  setAbortAlgorithms((signal, algorithm) => addAlgorithm(signal, algorithm));
  expose(AbortSignal, "AbortSignal");
  expose(AbortController, "AbortController");
  return { AbortController, AbortSignal };
}
