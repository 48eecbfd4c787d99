"""A last day for what a test lets be: it holds today, and ends within the year that the settings allow."""

from datetime import date, timedelta

SOON = (date.today() + timedelta(days=30)).isoformat()
