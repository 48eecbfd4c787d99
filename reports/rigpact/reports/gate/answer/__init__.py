"""The gate's answer: report, page, next steps, outputs."""
