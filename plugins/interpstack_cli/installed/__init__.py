"""Commands about installed engines and plugins: overview, reports and checks."""
