"""The real app on a port of its own, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from shortlist.web.serve import config, listening


@contextmanager
def serving(app: FastAPI) -> Iterator[str]:
    """The app's address."""
    server = uvicorn.Server(config(app))
    with listening("127.0.0.1", 0) as heard:
        thread = threading.Thread(target=server.run, args=([heard],), daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{heard.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
