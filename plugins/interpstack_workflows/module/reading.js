// What a realm needs to read the metadata of one module: the host's source in, the literal out.
(kernel, readMetadata) => {
  "use strict";
  const { stringify } = JSON;
  kernel.define("$metadata", async () => {
    const source = await kernel.request("metadata.source", null);
    kernel.call("metadata.read", stringify(readMetadata(source)));
  });
}
