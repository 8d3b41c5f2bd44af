"""Variables between evals: live sessions, and the channels of the graph's state behind them."""
