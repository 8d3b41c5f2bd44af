// Given to `node -e`. Takes the kernel's programs from a descriptor, since a kernel may open no file,
// and runs them. On the connection, a frame is a kind (one byte), a length (four bytes, little
// endian) and UTF-8 text.
((require, process, Buffer, FD, PROGRAMS) => {
  "use strict";
  const { closeSync, fstatSync, readSync, writeSync } = require("node:fs"), { Script } = require("node:vm");
  // A stop of the guest may end any function here, between two calls at the earliest: what has arrived,
  // what is left to send and the number of answers to come are noted at once, and the next call goes on.
  let kind = "", arriving = Buffer.allocUnsafe(5), arrived = 0;
  const NOTHING = Buffer.allocUnsafe(0);
  let leaving = NOTHING, left = 0, questions = 0;
  const fill = () => {
    while (arrived < arriving.length) {
      try {
        const count = readSync(FD, arriving, arrived, arriving.length - arrived, null);
        if (count === 0) process.reallyExit(0); // the host is gone
        arrived += count;
      } catch (error) {
        if (error.code !== "EINTR") process.reallyExit(0); // nothing came for as long as may be
      }
    }
  };
  const next = () => {
    if (kind === "") {
      fill();
      const named = String.fromCharCode(arriving[0]), body = Buffer.allocUnsafe(arriving.readUInt32LE(1));
      kind = named, arriving = body, arrived = 0;
    }
    fill();
    const text = arriving.toString("utf8"), head = Buffer.allocUnsafe(5);
    kind = "", arriving = head, arrived = 0;
    return text;
  };
  const flush = () => {
    while (left < leaving.length) {
      try {
        left += writeSync(FD, leaving, left);
      } catch (error) {
        if (error.code !== "EINTR" && error.code !== "EAGAIN") process.reallyExit(0);
      }
    }
    leaving = NOTHING, left = 0; // it is not the guest's, whose memory is counted next
  };
  const put = (kind, text, asks) => {
    const body = Buffer.from(text, "utf8"), head = Buffer.allocUnsafe(5);
    head[0] = kind.charCodeAt(0);
    head.writeUInt32LE(body.length, 1);
    const bytes = Buffer.concat([leaving.subarray(left), head, body]);
    leaving = bytes, left = 0, questions += asks;
  };
  const answer = () => {
    const text = next();
    questions--;
    return text;
  };
  const passOver = () => { while (questions > 0) answer(); }; // answers for a guest that was stopped
  const connection = {
    __proto__: null,
    send: (kind, text) => {
      put(kind, text, 0);
      flush();
    },
    hold: (kind, text) => { put(kind, text, 0); }, // leaves with the next frame: each write wakes the host
    receive: () => {
      passOver();
      return next();
    },
    ask: (kind, question) => {
      passOver();
      put(kind, JSON.stringify(question), 1);
      flush();
      return JSON.parse(answer());
    },
  };
  const texts = Buffer.allocUnsafeSlow(fstatSync(PROGRAMS).size);
  for (let at = 0; at < texts.length;) at += readSync(PROGRAMS, texts, at, texts.length - at, at);
  closeSync(PROGRAMS);
  const [main, stops, setup] = JSON.parse(texts.toString("utf8"));
  const load = (name, source) => new Script(source, { filename: `interpstack:${name}` }).runInThisContext();
  const { internalBinding } = require("internal/test/binding");
  const { startSigintWatchdog, stopSigintWatchdog } = internalBinding("contextify");
  // The network is connections: no sockets of the file system or of programs of this machine, and no
  // descriptors, whose numbers lead to the process's own.
  const { UV_EACCES } = internalBinding("uv"), { apply, defineProperty } = Reflect;
  const HANDLES = [["pipe_wrap", "Pipe", "bind", "bind2", "connect", "connect2", "open"], ["tcp_wrap", "TCP", "open"], ["udp_wrap", "UDP", "open"]];
  for (const [binding, name, ...methods] of HANDLES) {
    const { prototype } = internalBinding(binding)[name];
    for (const method of methods) {
      if (!(method in prototype)) continue;
      const own = prototype[method], ofNode = name === "Pipe" && method === "open"; // which writes its warnings to the third descriptor
      const value = function (...given) { return ofNode && given[0] === 2 ? apply(own, this, given) : UV_EACCES; };
      defineProperty(prototype, method, { __proto__: null, value, writable: false, enumerable: true, configurable: false });
    }
  }
  const stopping = load("stops", stops)(require, startSigintWatchdog, stopSigintWatchdog);
  load("main", main)(require, process, Buffer, connection, stopping, setup);
})
