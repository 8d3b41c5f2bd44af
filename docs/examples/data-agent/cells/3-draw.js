// A bar for each month, green or red, with its target as a line: a PNG of four colours, by hand.
const [WIDTH, HEIGHT, GREEN, RED, BLACK] = [480, 200, 1, 2, 3];
const pixels = Array.from({ length: HEIGHT }, () => new Uint8Array(WIDTH));
const fill = (x, y, width, height, colour) => {
  for (const row of pixels.slice(y, y + height)) row.fill(colour, x, x + width);
};
const top = Math.max(...Object.values(months).flatMap(({ net, target }) => [net, target]));
const up = (cents) => HEIGHT - Math.round((0.95 * HEIGHT * cents) / top);
Object.values(months).forEach(({ net, target }, i) => {
  fill(i * 40 + 5, up(net), 30, HEIGHT - up(net), net < target ? RED : GREEN);
  fill(i * 40 + 1, up(target), 38, 2, BLACK);
});

const long = (n) => [24, 16, 8, 0].map((bits) => (n >>> bits) & 255);
const crc = (bytes) => {
  let sum = -1;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum;
};
const chunk = (type, data) => {
  const body = [...Array.from(type, (letter) => letter.charCodeAt()), ...data];
  return [...long(data.length), ...body, ...long(crc(body))];
};
const lines = pixels.flatMap((row) => {
  const packed = [0]; // no filter, then four pixels in each byte
  for (let x = 0; x < WIDTH; x += 4)
    packed.push((row[x] << 6) | (row[x + 1] << 4) | (row[x + 2] << 2) | row[x + 3]);
  return packed;
});
let [a, b] = [1, 0];
for (const byte of lines) [a, b] = [(a + byte) % 65521, (a + b + byte) % 65521];
const size = [lines.length & 255, lines.length >> 8];
const stored = [0x78, 1, 1, ...size, ...size.map((byte) => 255 - byte), ...lines, b >> 8, b & 255, a >> 8, a & 255];
const png = [
  ...[137, 80, 78, 71, 13, 10, 26, 10],
  ...chunk("IHDR", [...long(WIDTH), ...long(HEIGHT), 2, 3, 0, 0, 0]),
  ...chunk("PLTE", [255, 255, 255, 60, 150, 80, 200, 60, 60, 0, 0, 0]),
  ...chunk("IDAT", stored),
  ...chunk("IEND", []),
];
await display(new Uint8Array(png), { name: "revenue.png" });
