  // -- `for await` loops that end early -----------------------------------------------------

  // QuickJS does not wait for the iterator of a loop that ends early. Preparation gives such a loop
  // this iterable, and waits for its end behind the loop.
  function asyncLoop() {
    let closing, failed = false;
    const loop = table();
    loop.over = (iterable) => {
      if (iterable === undefined || iterable === null || isArray(iterable)) return iterable; // nothing to close
      const method = iterable[symbolAsyncIterator], wrapper = table();
      wrapper[symbolAsyncIterator] = () => {
        const iterator = method === undefined || method === null ? fromSync(iterable) : apply(method, iterable, []);
        if (!isObject(iterator)) return iterator; // the engine refuses it
        const next = iterator.next;
        let broken = false; // an iterator that fails is not closed; QuickJS would do so
        return {
          __proto__: null,
          next: (value) => {
            broken = true;
            const result = apply(next, iterator, [value]);
            broken = false;
            if (isPromise(result)) apply(promiseThen, result, [undefined, () => { broken = true; }]);
            return result;
          },
          get return() {
            const close = broken ? undefined : iterator.return;
            if (close === undefined || close === null) return undefined;
            return (value) => closing = closed(() => apply(close, iterator, [value]));
          },
        };
      };
      return wrapper;
    };
    loop.failed = () => { failed = true; };
    loop.isClosing = () => closing !== undefined;
    loop.closed = async () => {
      try {
        const result = await closing;
        if (!failed && !isObject(result)) throw new TypeErrorClass("iterator result is not an object");
      } catch (thrown) {
        if (!failed) throw thrown; // else the error of the loop counts
      }
    };
    return freeze(loop);
  }
  async function closed(close) { return close(); }
  // An iterator that is not async, as the language's loop takes it: QuickJS itself does not close one
  // of whose promises is rejected.
  function fromSync(iterable) {
    const iterator = apply(iterable[symbolIterator], iterable, []);
    if (!isObject(iterator)) throw new TypeErrorClass("iterator is not an object");
    const next = iterator.next;
    const checked = (result) => {
      if (!isObject(result)) throw new TypeErrorClass("iterator result is not an object");
      return result;
    };
    return {
      __proto__: null,
      next: async (given) => {
        const result = checked(apply(next, iterator, [given])), done = !!result.done, value = result.value;
        try {
          return { value: await value, done };
        } catch (error) {
          if (!done) abandon(iterator);
          throw error;
        }
      },
      return: async (given) => {
        const close = iterator.return;
        if (close === undefined || close === null) return { value: given, done: true };
        const result = checked(apply(close, iterator, [given])), done = !!result.done;
        return { value: await result.value, done };
      },
    };
  }
  function abandon(iterator) {
    try {
      const close = iterator.return;
      if (close !== undefined && close !== null) apply(close, iterator, []);
    } catch { /* the error of its promise counts */ }
  }
  function isObject(value) { return typeof value === "object" && value !== null || typeof value === "function"; }
