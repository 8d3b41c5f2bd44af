export { readMetadata } from "./metadata.js";
