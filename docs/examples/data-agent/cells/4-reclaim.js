// The numbers of the refunds pass from one cell to the tool; a person approves the call.
const refunds = twice.map((one) => one.refund);
try {
  await tools.reclaim({ refunds, reason: "the order was refunded twice" });
} catch (error) {
  if (!error.rejected) throw error;
  `Nothing was reclaimed: ${error.message}`;
}
