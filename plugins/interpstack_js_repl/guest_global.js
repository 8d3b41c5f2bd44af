// The helpers of `js_repl` cells, on one global: `tool`, `emitImage`, and paths of the host.
//
// Made once in a realm, so that code may keep them from cell to cell; each call belongs to the cell that
// runs when it is made. Everything that is used of the language is captured first. The host checks
// what arrives once more.
(kernel, config) => {
  "use strict";
  const { asNative, define, request, callLate, isRunning } = kernel;
  const { namespace, root, tools, paths } = config;
  const PromiseClass = Promise, ErrorClass = Error, TypeErrorClass = TypeError, Bytes = Uint8Array, Text = String;
  const { freeze, create, assign } = Object;
  const { apply, defineProperty, getOwnPropertyDescriptor } = Reflect;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const { stringify } = JSON;
  const uncurry = Function.prototype.bind.bind(Function.prototype.call);
  const charCode = uncurry(String.prototype.charCodeAt), slice = uncurry(String.prototype.slice);
  const indexOf = uncurry(String.prototype.indexOf), toLower = uncurry(String.prototype.toLowerCase);
  const trim = uncurry(String.prototype.trim), endsWith = uncurry(String.prototype.endsWith);
  const hex = uncurry(Number.prototype.toString), test = uncurry(RegExp.prototype.test);
  const promiseThen = Promise.prototype.then;
  const sizeOfBuffer = uncurry(getOwnPropertyDescriptor(ArrayBuffer.prototype, "byteLength").get);
  const NAME_CHARS = 200, FAULT_CHARS = 2000;
  const GONE = "js_repl exec context not found";

  const fault = (message) => new ErrorClass(message);
  const rejected = (error) => new PromiseClass((resolve, reject) => { reject(error); });
  // As `then` of the language itself, whatever the guest has put in its place.
  const followed = (promise, done, failed) => apply(promiseThen, promise, [done, failed]);
  const isObject = (value) => typeof value === "object" && value !== null;

  // -- tools -------------------------------------------------------------------------------

  function bridgeOf(name) {
    let part = "";
    for (let i = 0; i < name.length; i++) {
      const code = charCode(name, i);
      const usual = (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
      part += usual ? name[i] : "$" + hex(code, 16) + "$";
    }
    return root + tools + part;
  }
  function tool(name, input) {
    if (typeof name !== "string" || trim(name) === "") return rejected(fault(namespace + ".tool expects a tool name string"));
    if (name.length > NAME_CHARS) return rejected(fault("unsupported call: " + slice(name, 0, NAME_CHARS) + "…"));
    if (!isRunning()) return rejected(fault(GONE));
    if (arguments.length > 2) return rejected(new TypeErrorClass(namespace + ".tool takes a tool name and one object of the tool's fields; got " + arguments.length + " arguments"));
    if (typeof input === "function" || typeof input === "symbol")
      return rejected(new TypeErrorClass(namespace + ".tool expects arguments that can be sent: an object of the tool's fields, or a string"));
    return request(bridgeOf(name), input === undefined ? {} : input);
  }

  // -- images ------------------------------------------------------------------------------

  const prefix = namespace + ".emitImage ";
  const refuse = (why) => { throw fault(prefix + why); };

  function detailOf(detail) {
    if (detail === undefined || detail === null) return undefined;
    if (typeof detail !== "string" || detail === "") refuse("expected detail to be a non-empty string");
    if (detail !== "original") refuse('only supports detail "original"; omit detail for default behavior');
    return detail;
  }
  function ofUrl(url, detail) {
    if (typeof url !== "string" || url === "") refuse("expected a non-empty image_url");
    if (toLower(slice(url, 0, 5)) !== "data:") refuse("only accepts data URLs");
    const comma = indexOf(url, ",");
    if (comma < 0) refuse("only accepts data URLs with a comma before the data");
    const head = toLower(slice(url, 5, comma)), body = slice(url, comma + 1);
    if (body === "") refuse("expected non-empty bytes");
    const encoded = endsWith(head, ";base64");
    if (encoded && !test(/^[A-Za-z0-9+/]+={0,2}$/, body)) refuse("only accepts data URLs whose data are Base64, as they say");
    return { __proto__: null, url, detail };
  }
  function ofBytes(value) {
    const given = value.bytes, mimeType = value.mimeType, detail = detailOf(value.detail);
    const bytes = bytesOf(given);
    if (bytes === undefined) refuse("expected bytes to be Buffer, Uint8Array, ArrayBuffer, or ArrayBufferView");
    if (bytes.length === 0) refuse("expected non-empty bytes");
    if (typeof mimeType !== "string" || trim(mimeType) === "") refuse("expected a non-empty mimeType");
    return { __proto__: null, bytes, mimeType, detail };
  }
  function bytesOf(value) {
    if (!isObject(value)) return undefined;
    try {
      if (isView(value)) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
      sizeOfBuffer(value);
      return new Bytes(value);
    } catch {
      return undefined; // another object, or a buffer that was given away
    }
  }
  // An image of MCP, of a LangChain content block, or one that a tool returned to code.
  function ofImageItem(item) {
    const meta = isObject(item._meta) ? item._meta["codex/imageDetail"] : undefined;
    const detail = meta === "original" ? meta : detailOf(item.detail);
    if (item.url !== undefined && item.data === undefined && item.base64 === undefined) return ofUrl(item.url, detail);
    const data = item.data === undefined ? item.base64 : item.data;
    const mimeType = item.mimeType === undefined ? item.mime_type : item.mimeType;
    const type = typeof mimeType === "string" && mimeType !== "" ? mimeType : "application/octet-stream";
    const bytes = bytesOf(data);
    if (bytes !== undefined && bytes.length > 0) return { __proto__: null, bytes, mimeType: type, detail };
    if (typeof data !== "string" || data === "") refuse("expected MCP image data");
    return ofUrl(toLower(slice(data, 0, 5)) === "data:" ? data : "data:" + type + ";base64," + data, detail);
  }
  function ofInputImage(item) {
    const image = item.image_url;
    return ofUrl(isObject(image) ? image.url : image, detailOf(isObject(image) && image.detail !== "auto" ? image.detail ?? item.detail : item.detail));
  }

  const MCP = { __proto__: null, malformed: "received malformed MCP content", unknown: "does not support MCP content type " };
  const CONTENT = { __proto__: null, malformed: "received malformed content items", unknown: "does not support content item type " };

  function ofItems(items, words) {
    if (!isArray(items)) refuse(words.malformed);
    let images = 0, texts = 0, image;
    for (let i = 0; i < items.length; i++) {
      const item = items[i];
      if (!isObject(item) || typeof item.type !== "string") refuse(words.malformed);
      switch (item.type) {
        case "input_text": case "output_text": case "text": texts++; break;
        case "input_image": case "image_url": images++; image = ofInputImage(item); break;
        case "image": images++; image = ofImageItem(item); break;
        default: refuse(words.unknown + stringify(slice(item.type, 0, NAME_CHARS)));
      }
    }
    if (images > 0 && texts > 0) refuse("does not accept mixed text and image content");
    if (images !== 1) refuse("expected exactly one image");
    return image;
  }
  function ofMcpResult(result) {
    if (isObject(result) && isObject(result.Ok)) result = result.Ok;
    if (!isObject(result) || result.content === undefined) refuse("received an unsupported MCP result");
    return ofItems(result.content, MCP);
  }
  function ofOutput(output) {
    if (typeof output === "string" && toLower(slice(output, 0, 5)) === "data:") return ofUrl(output, undefined);
    if (isArray(output)) return ofItems(output, CONTENT);
    if (isObject(output) && isArray(output.content)) return ofItems(output.content, CONTENT);
    return refuse("received an unsupported tool output shape");
  }
  function imageOf(value) {
    if (typeof value === "string") return ofUrl(value, undefined);
    if (!isObject(value)) refuse("received an unsupported value");
    if (isArray(value)) return ofItems(value, CONTENT);
    switch (value.type) {
      case "input_image": case "image_url": return ofInputImage(value);
      case "image": return ofImageItem(value);
      case "message": return ofItems(value.content, CONTENT);
      case "function_call_output": case "custom_tool_call_output": return ofOutput(value.output);
      case "mcp_tool_call_output": return ofMcpResult(value.output === undefined ? value.result : value.output);
    }
    if (value.bytes !== undefined) return ofBytes(value);
    if (value.output !== undefined) return ofOutput(value.output);
    if (value.content !== undefined) return ofMcpResult(value);
    return refuse("received an unsupported value");
  }

  // Whatever code has thrown: a failure that cannot be shown is a failure, too.
  function messageOf(error) {
    try {
      const message = isObject(error) ? error.message : error;
      return slice(Text(message), 0, FAULT_CHARS);
    } catch {
      return "an error whose message cannot be read";
    }
  }

  let lastEmit = 0;
  function emitImage(imageLike) {
    const id = ++lastEmit, late = !isRunning();
    // `images.map(emitImage)` passes the place of the image and the list, too.
    const given = arguments.length > 1 && typeof arguments[1] !== "number" ? arguments.length : 1;
    let watched = false, reported = false;
    function fail(error) {
      if (!watched && !late) {
        reported = true;
        callLate(root + "emitted", { id, fault: messageOf(error) });
      }
      throw error;
    }
    function emit(value) {
      try {
        if (given > 1) refuse("takes one image; got " + given + " arguments");
        const image = assign(create(null), imageOf(value));
        if (isRunning()) return followed(request(root + "emit", image), () => undefined, fail);
        callLate(root + "emitted", { id, image }); // its input came when the cell had ended
      } catch (error) {
        fail(error);
      }
      return undefined;
    }
    function watch() {
      watched = true;
      if (!reported) return;
      reported = false;
      callLate(root + "emitted", { id, caught: true });
    }
    const done = settle(imageLike, late, emit, fail);
    followed(done, undefined, () => {}); // a rejection that nobody looks at fails the cell by itself
    const methods = {
      __proto__: null,
      constructor: undefined, // so that `await`, too, calls this `then`
      then(fulfilled, failed) { watch(); return followed(done, fulfilled, failed); },
      catch(failed) { watch(); return followed(done, undefined, failed); },
      finally(after) {
        watch();
        const afterwards = () => new PromiseClass((resolve) => { resolve(after()); });
        return followed(done, (value) => followed(afterwards(), () => value),
          (error) => followed(afterwards(), () => { throw error; }));
      },
    };
    for (const name in methods) defineProperty(done, name, { __proto__: null, value: methods[name] });
    return freeze(done);
  }
  function settle(imageLike, late, emit, fail) {
    return new PromiseClass((resolve, reject) => {
      if (late) throw fault(GONE);
      let then;
      try {
        then = isObject(imageLike) || typeof imageLike === "function" ? imageLike.then : undefined;
      } catch (error) {
        fail(error);
      }
      if (typeof then !== "function") {
        resolve(emit(imageLike));
        return;
      }
      const awaited = new PromiseClass((settled) => { settled(imageLike); });
      followed(followed(awaited, emit, fail), resolve, reject);
    });
  }

  define(namespace, freeze({ ...paths, tool: freeze(asNative(tool)), emitImage: freeze(asNative(emitImage)) }));
  define("tmpDir", paths.tmpDir);
}
