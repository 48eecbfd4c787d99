"""The site's navigation (mkdocs.yml), which docs/index.md lists."""

from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[3]


class Navigation(yaml.SafeLoader):
    """Reads mkdocs.yml without running what its tags name."""


Navigation.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
