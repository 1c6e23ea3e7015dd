"""The few Prefect tasks that flows are made of: timeouts and tags, no rules."""
