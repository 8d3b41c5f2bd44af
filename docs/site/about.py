"""What the site says about itself: the version that it describes, and where its source is."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any


def on_config(config: Any) -> None:
    """Name the installed version at the foot of each page, and link the repository beside it.

    A workflow of GitHub sets the variables that name the repository; elsewhere there is no link. At
    the head of a page, the theme would ask another host about the repository.
    """
    config.copyright = f"interpstack {version('interpstack')}"
    server, repository = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    if server and repository:
        link = {"icon": "fontawesome/brands/git-alt", "link": f"{server}/{repository}"}
        config.extra["social"] = [{**link, "name": f"Repository {repository}"}]
