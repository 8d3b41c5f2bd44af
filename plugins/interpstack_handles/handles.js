(kernel) => {
  "use strict";
  const { addHandleMethod, keepResultsBy, request, callLate } = kernel;
  addHandleMethod("rows", function rows(from, to) { return request("handles.rows", [this, from, to]); });
  addHandleMethod("text", function text(from, to) { return request("handles.text", [this, from, to]); });
  addHandleMethod("bytes", function bytes(from, to) { return request("handles.bytes", [this, from, to]); });
  addHandleMethod("json", function json(path) { return request("handles.json", [this, path]); });
  addHandleMethod("drop", function drop() { return request("handles.drop", [this]); });
  // A result that is too long to be shown; one that cannot be kept is said to be so.
  keepResultsBy((value) => {
    try {
      callLate("handles.__result", { value });
    } catch (error) {
      callLate("handles.__result", { error: kernel.describe(error).message });
    }
  });
}
