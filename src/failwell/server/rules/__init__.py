"""What has to hold before a tool runs: limits, rates, tiers, environments."""
