// structuredClone: the HTML standard's StructuredSerialize and StructuredDeserialize in one walk.
// The walk keeps its own stack, so that deep data cannot overflow the engine's.
//
// Written here because the packaged ones are either far from the standard (they drop shared buffers, offsets and
// sparse arrays) or bring 100 KB of helpers along.
export function createStructuredClone(DOMException, platform) {
  const { apply } = Reflect;
  const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, keys, hasOwn } = Object;
  const objectProto = Object.prototype;
  const toTag = objectProto.toString;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const MapCtor = Map;
  const SetCtor = Set;
  const { get: mapGet, has: mapHas, set: mapSet, forEach: mapEach } = Map.prototype;
  const { add: setAdd, forEach: setEach } = Set.prototype;
  const DateCtor = Date;
  const { getTime } = Date.prototype;
  const RegExpCtor = RegExp;
  const BufferCtor = ArrayBuffer;
  const { transfer } = ArrayBuffer.prototype;
  const ViewCtor = DataView;
  const getter = (object, name) => getOwnPropertyDescriptor(object, name)?.get;
  const typedArray = getPrototypeOf(Uint8Array.prototype);
  const arrayKind = getter(typedArray, Symbol.toStringTag);
  const arrayBuffer = getter(typedArray, "buffer");
  const arrayOffset = getter(typedArray, "byteOffset");
  const arrayLength = getter(typedArray, "length");
  const viewBuffer = getter(DataView.prototype, "buffer");
  const viewOffset = getter(DataView.prototype, "byteOffset");
  const viewLength = getter(DataView.prototype, "byteLength");
  const bufferLength = getter(ArrayBuffer.prototype, "byteLength");
  const bufferMax = getter(ArrayBuffer.prototype, "maxByteLength");
  const bufferResizable = getter(ArrayBuffer.prototype, "resizable");
  const bufferDetached = getter(ArrayBuffer.prototype, "detached");
  const regexpSource = getter(RegExp.prototype, "source");
  const regexpFlags = getter(RegExp.prototype, "flags");
  const { isError = value => apply(toTag, value, []) === "[object Error]" } = Error;
  const typeErrorCtor = TypeError;
  const WrapObject = Object;
  const errorTypes = {
    __proto__: null, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError,
  };
  const arrayTypes = { __proto__: null };
  for (const name of [
    "Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array", "Uint32Array",
    "BigInt64Array", "BigUint64Array", "Float16Array", "Float32Array", "Float64Array",
  ]) {
    if (globalThis[name]) arrayTypes[name] = globalThis[name];
  }
  const boxes = [
    [Boolean, Boolean.prototype.valueOf],
    [Number, Number.prototype.valueOf],
    [String, String.prototype.valueOf],
    [BigInt, BigInt.prototype.valueOf],
  ];
  const unclonable = [Symbol, Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry, ...platform];
  if (globalThis.SharedArrayBuffer) unclonable.push(SharedArrayBuffer);
  const iteratorProto = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  const { isPrototypeOf } = objectProto;

  function fail(value, why = "could not be cloned.") {
    let text;
    try {
      text = typeof value === "object" ? apply(toTag, value, []) : `${String(value)}`;
    } catch {
      text = "The object";
    }
    return new DOMException(`${text} ${why}`, "DataCloneError");
  }

  // Does the value have the internal slot that `method` reads?
  function has(method, value) {
    try {
      apply(method, value, []);
      return true;
    } catch {
      return false;
    }
  }

  const mapSize = getter(Map.prototype, "size");
  const setSize = getter(Set.prototype, "size");

  // CreateDataProperty, past setters that may be on a prototype.
  function put(object, key, value) {
    if (!(key in object)) {
      object[key] = value;
      return;
    }
    defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  }

  function cloneBuffer(buffer) {
    if (bufferDetached && apply(bufferDetached, buffer, [])) throw fail(buffer, "is detached and could not be cloned.");
    const length = apply(bufferLength, buffer, []);
    if (!bufferResizable || !apply(bufferResizable, buffer, [])) {
      if (length === 0) return new BufferCtor(0);
      const copy = new BufferCtor(length);
      new arrayTypes.Uint8Array(copy).set(new arrayTypes.Uint8Array(buffer));
      return copy;
    }
    const copy = new BufferCtor(length, { maxByteLength: apply(bufferMax, buffer, []) });
    new arrayTypes.Uint8Array(copy).set(new arrayTypes.Uint8Array(buffer));
    return copy;
  }

  // The length of a view that follows its resizable buffer is left out, so that the clone follows its own.
  function tracks(view, buffer, Ctor, offset, length, size) {
    if (!bufferResizable || !apply(bufferResizable, buffer, [])) return false;
    const max = apply(bufferMax, buffer, []);
    const now = apply(bufferLength, buffer, []);
    if (offset + length * size > now || now - (offset + length * size) >= size) return false;
    if (max === now) return false;
    // Only growing tells a tracking view from one that ends where the buffer ends now.
    try {
      buffer.resize(now + size <= max ? now + size : max);
      const after = apply(Ctor === ViewCtor ? viewLength : arrayLength, view, []);
      return after !== length;
    } catch {
      return false;
    } finally {
      buffer.resize(now);
    }
  }

  function cloneView(view, memory, frames) {
    const kind = apply(arrayKind, view, []);
    const isData = kind === undefined;
    const Ctor = isData ? ViewCtor : arrayTypes[kind];
    if (!Ctor) throw fail(view);
    const buffer = apply(isData ? viewBuffer : arrayBuffer, view, []);
    let offset, length;
    if (isData) {
      if (!has(viewLength, view)) throw fail(view, "is out of bounds and could not be cloned.");
      offset = apply(viewOffset, view, []);
      length = apply(viewLength, view, []);
    } else {
      offset = apply(arrayOffset, view, []);
      length = apply(arrayLength, view, []);
    }
    const follows = tracks(view, buffer, Ctor, offset, length, isData ? 1 : Ctor.BYTES_PER_ELEMENT);
    const copy = clone(buffer, memory, frames);
    return follows ? new Ctor(copy, offset) : new Ctor(copy, offset, length);
  }

  function cloneError(error, memory, frames) {
    const { name } = error;
    const text = name === undefined ? "Error" : `${name}`;
    const Ctor = errorTypes[text] ?? errorTypes.Error;
    const own = getOwnPropertyDescriptor(error, "message");
    const copy = own && hasOwn(own, "value") ? new Ctor(`${own.value}`) : new Ctor();
    apply(mapSet, memory, [error, copy]);
    const { stack } = error;
    if (typeof stack === "string") {
      defineProperty(copy, "stack", { __proto__: null, value: stack, writable: true, configurable: true });
    } else {
      delete copy.stack;
    }
    if (hasOwn(error, "cause")) push(frames, addCause, error, copy, null, 1);
    return copy;
  }

  // What is left to fill in: one step per call, the newest frame first, which is the standard's order.
  function push(frames, step, from, to, list, length) {
    frames[frames.length++] = { __proto__: null, step, from, to, list, length, next: 0, key: undefined };
  }

  function addCause(frame, memory, frames) {
    const value = clone(frame.from.cause, memory, frames);
    defineProperty(frame.to, "cause", { __proto__: null, value, writable: true, configurable: true });
  }

  function addProperty(frame, memory, frames) {
    const name = frame.list[frame.next - 1];
    // A getter that ran before may have removed it.
    if (hasOwn(frame.from, name)) put(frame.to, name, clone(frame.from[name], memory, frames));
  }

  function addToMap(frame, memory, frames) {
    const copy = clone(frame.list[frame.next - 1], memory, frames);
    if (frame.next % 2) frame.key = copy;
    else apply(mapSet, frame.to, [frame.key, copy]);
  }

  function addToSet(frame, memory, frames) {
    apply(setAdd, frame.to, [clone(frame.list[frame.next - 1], memory, frames)]);
  }

  function cloneProperties(from, to, frames) {
    const names = keys(from);
    if (names.length) push(frames, addProperty, from, to, names, names.length);
    return to;
  }

  function cloneAll(value, memory) {
    const frames = { __proto__: null, length: 0 };
    const copy = clone(value, memory, frames);
    while (frames.length) {
      const frame = frames[frames.length - 1];
      if (frame.next === frame.length) {
        frames.length--;
        delete frames[frames.length];
      } else {
        frame.next++;
        frame.step(frame, memory, frames);
      }
    }
    return copy;
  }

  // The clone of a primitive or leaf, or an empty one whose contents wait in a frame.
  function clone(value, memory, frames) {
    const type = typeof value;
    if (type === "symbol" || type === "function") throw fail(value);
    if (type !== "object" || value === null) return value;
    if (apply(mapHas, memory, [value])) return apply(mapGet, memory, [value]);
    const remember = copy => {
      apply(mapSet, memory, [value, copy]);
      return copy;
    };

    if (isArray(value)) {
      const copy = remember([]);
      copy.length = value.length;
      return cloneProperties(value, copy, frames);
    }
    const proto = getPrototypeOf(value);
    if (proto !== null && (proto !== objectProto || isError(value))) {
      if (isView(value)) return remember(cloneView(value, memory, frames));
      // Values of another realm have other classes and the same slots: a Buffer of Node, for one.
      const isForeign = !apply(isPrototypeOf, objectProto, [value]);
      if ((isForeign || value instanceof BufferCtor) && has(bufferLength, value)) return remember(cloneBuffer(value));
      if ((isForeign || value instanceof MapCtor) && has(mapSize, value)) {
        const copy = remember(new MapCtor());
        const items = { __proto__: null, length: 0 };
        apply(mapEach, value, [(item, key) => {
          items[items.length++] = key;
          items[items.length++] = item;
        }]);
        push(frames, addToMap, value, copy, items, items.length);
        return copy;
      }
      if ((isForeign || value instanceof SetCtor) && has(setSize, value)) {
        const copy = remember(new SetCtor());
        const items = { __proto__: null, length: 0 };
        apply(setEach, value, [item => { items[items.length++] = item; }]);
        push(frames, addToSet, value, copy, items, items.length);
        return copy;
      }
      if ((isForeign || value instanceof DateCtor) && has(getTime, value)) return remember(new DateCtor(apply(getTime, value, [])));
      if ((isForeign || value instanceof RegExpCtor) && has(regexpSource, value) && value !== RegExpCtor.prototype) {
        return remember(new RegExpCtor(apply(regexpSource, value, []), apply(regexpFlags, value, [])));
      }
      if (value instanceof DOMException) {
        const copy = remember(new DOMException(value.message, value.name));
        const { stack } = value;
        if (typeof stack === "string") {
          try {
            defineProperty(copy, "stack", { __proto__: null, value: stack, writable: true, configurable: true });
          } catch {}
        }
        return copy;
      }
      if (isError(value)) return cloneError(value, memory, frames);
      for (let i = 0; i < boxes.length; i++) {
        if (value instanceof boxes[i][0] && has(boxes[i][1], value)) {
          return remember(WrapObject(apply(boxes[i][1], value, [])));
        }
      }
      for (let i = 0; i < unclonable.length; i++) if (value instanceof unclonable[i]) throw fail(value);
      if (apply(isPrototypeOf, iteratorProto, [value])) throw fail(value);
    }
    if (hasOwn(value, "callee") && apply(toTag, value, []) === "[object Arguments]") throw fail(value);
    return cloneProperties(value, remember({}), frames);
  }

  function sequence(value) {
    if (value === undefined) return [];
    if ((typeof value !== "object" && typeof value !== "function") || value === null) {
      throw new typeErrorCtor("structuredClone: transfer must be a sequence");
    }
    return [...value];
  }

  function structuredClone(value, options = undefined) {
    if (arguments.length < 1) throw new typeErrorCtor("structuredClone: 1 argument required");
    if (options !== undefined && options !== null && typeof options !== "object" && typeof options !== "function") {
      throw new typeErrorCtor("structuredClone: the options must be an object");
    }
    const moved = sequence(options?.transfer);
    const seen = new SetCtor();
    for (let i = 0; i < moved.length; i++) {
      const buffer = moved[i];
      if (typeof buffer !== "object" || buffer === null || !has(bufferLength, buffer) || !transfer) {
        throw fail(buffer, "could not be transferred.");
      }
      const before = apply(setSize, seen, []);
      apply(setAdd, seen, [buffer]);
      if (apply(setSize, seen, []) === before) throw fail(buffer, "is transferred twice.");
    }
    const memory = new MapCtor();
    const copy = cloneAll(value, memory);
    // Copied above and emptied here: when cloning throws, nothing has been detached.
    for (let i = 0; i < moved.length; i++) {
      if (bufferDetached && apply(bufferDetached, moved[i], [])) throw fail(moved[i], "is detached.");
      apply(transfer, moved[i], [0]);
    }
    return copy;
  }
  return structuredClone;
}
