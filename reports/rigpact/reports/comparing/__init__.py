"""Two recordings side by side: measured, judged, addressed."""
