// Given to `node -e`. Takes the kernel's programs from a descriptor, since a kernel may open no file,
// and runs them. On the connection, a frame is a kind (one byte), a length (four bytes, little
// endian) and UTF-8 text.
((require, process, Buffer, FD, PROGRAMS) => {
  const { closeSync, fstatSync, readSync, writeSync } = require("node:fs"), { Script } = require("node:vm");
  const read = (size) => {
    const bytes = Buffer.allocUnsafe(size);
    for (let at = 0; at < size;) {
      try {
        const count = readSync(FD, bytes, at, size - at, null);
        if (count === 0) process.reallyExit(0); // the host is gone
        at += count;
      } catch (error) {
        if (error.code !== "EINTR") process.reallyExit(0); // nothing came for as long as may be
      }
    }
    return bytes;
  };
  const receive = () => {
    const head = read(5);
    return [String.fromCharCode(head[0]), read(head.readUInt32LE(1)).toString("utf8")];
  };
  const send = (kind, text) => {
    const body = Buffer.from(text, "utf8"), frame = Buffer.allocUnsafe(5 + body.length);
    frame[0] = kind.charCodeAt(0);
    frame.writeUInt32LE(body.length, 1);
    body.copy(frame, 5);
    for (let at = 0; at < frame.length;) {
      try {
        at += writeSync(FD, frame, at);
      } catch (error) {
        if (error.code !== "EINTR" && error.code !== "EAGAIN") process.reallyExit(0);
      }
    }
  };
  const texts = Buffer.allocUnsafeSlow(fstatSync(PROGRAMS).size);
  for (let at = 0; at < texts.length;) at += readSync(PROGRAMS, texts, at, texts.length - at, at);
  closeSync(PROGRAMS);
  const [main, setup] = JSON.parse(texts.toString("utf8"));
  new Script(main, { filename: "interpstack:main" }).runInThisContext()(require, process, Buffer, receive, send, setup);
})
