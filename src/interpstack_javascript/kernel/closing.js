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
        const iterator = method === undefined || method === null ? delegating(iterable) : apply(method, iterable, []);
        if (!isObject(iterator)) return iterator; // the engine refuses it
        const next = iterator.next;
        return {
          __proto__: null,
          next: (value) => apply(next, iterator, [value]),
          get return() {
            const close = iterator.return;
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
  async function* delegating(iterable) { yield* iterable; }
  function isObject(value) { return typeof value === "object" && value !== null || typeof value === "function"; }
