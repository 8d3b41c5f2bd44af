export { wrapAwaiting } from "./wrap.js";
