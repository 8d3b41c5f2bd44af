  // -- chance and time come from the host --------------------------------------------------

  let s0 = 1, s1 = 2, s2 = 3, s3 = 4;
  let unmixed = 0;            // rounds until the seed has spread; most cells use no chance at all
  function round() { // sfc32 by Chris Doty-Humphrey, public domain
    const t = (((s0 + s1) | 0) + s3) | 0;
    s3 = (s3 + 1) | 0;
    s0 = s1 ^ (s1 >>> 9);
    s1 = (s2 + (s2 << 3)) | 0;
    s2 = (s2 << 21) | (s2 >>> 11);
    s2 = (s2 + t) | 0;
    return (t >>> 0) / 4294967296;
  }
  function random() {
    for (; unmixed > 0; unmixed--) round();
    return round();
  }
  function seed(a, b, c, d) {
    s0 = a | 0; s1 = b | 0; s2 = c | 0; s3 = d | 0;
    unmixed = 12;
  }
  // As `GuestClock` does it: each reading moves the time, so that a loop that waits for a moment
  // ends; a poll brings it up to the host's, and never back.
  const STEP = 1, LEAD = 100;
  function now() {
    const time = clock;
    clock += STEP;
    return time;
  }
  function setTime(ms) {
    const lead = clock - hostTime;
    const next = ms + (lead < LEAD ? (lead > 0 ? lead : 0) : LEAD);
    if (next > clock) clock = next;
    hostTime = ms;
  }
  const HostDate = function Date() {
    if (new.target === undefined) return dateText(new DateClass(floor(now())));
    return construct(DateClass, arguments.length === 0 ? [floor(now())] : arguments, new.target);
  };
  defineProperty(HostDate, "length", { __proto__: null, value: 7 });
  defineProperty(HostDate, "prototype", { __proto__: null, value: DateClass.prototype, writable: false });
  define(HostDate, "now", { now() { return floor(now()); } }.now);
  define(HostDate, "parse", DateClass.parse);
  define(HostDate, "UTC", DateClass.UTC);
  define(DateClass.prototype, "constructor", HostDate);
  define(globals, "Date", HostDate);
  // 53 bits, like the function it stands for.
  define(Math, "random", { random() { return (floor(random() * 67108864) * 134217728 + floor(random() * 134217728)) / 9007199254740992; } }.random);

  // Without a date `Intl` reads the machine's clock; the guest's stands in for it.
  if (typeof Intl === "object") {
    const formats = Intl.DateTimeFormat.prototype;
    const bound = getOwnPropertyDescriptor(formats, "format"), parts = formats.formatToParts;
    const known = new WeakMap(), get = WeakMap.prototype.get, set = WeakMap.prototype.set;
    const given = (date) => date === undefined ? now() : date;
    const getFormat = { get format() {
      const original = apply(bound.get, this, []);
      let format = apply(get, known, [original]);
      if (format === undefined) apply(set, known, [original, format = (date) => original(given(date))]);
      return format;
    } };
    defineProperty(formats, "format", { __proto__: null, ...bound, get: getOwnPropertyDescriptor(getFormat, "format").get });
    defineProperty(formats, "formatToParts", { __proto__: null, writable: true, enumerable: false, configurable: true,
      value: { formatToParts(date) { return apply(parts, this, [given(date)]); } }.formatToParts });
  }
