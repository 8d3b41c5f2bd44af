"""Records of running evals, so that they go on after a pause or a crash, and spending."""
