"""What a benchmark ran on, in words that another machine of the same kind would say too."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from zlib import crc32

ROOT = Path(__file__).parents[1]
BUSY = 0.2  # cores at work for others, above which times are not to be trusted


def machine() -> dict[str, Any]:
    """The GPU counts where a benchmark has loaded torch and there is one."""
    chip = gpu()
    kind = chip or f"{processor()} {os.cpu_count()} cores"
    slug = "-".join(re.findall(r"[a-z0-9]+", kind.lower()))
    return {"kind": slug, "processor": processor(), "cores": cores(), "gpu": chip, "busy": busy()}


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def busy() -> float:
    """Cores at work for others: the more of when the benchmark was loaded and now (0 where /proc does not say)."""
    return max(AT_START, _cores_at_work())


def _cores_at_work() -> float:
    """Over half a second in which this process sleeps."""
    before = _ticks()
    time.sleep(0.5)
    after = _ticks()
    return round((after - before) / os.sysconf("SC_CLK_TCK") / 0.5, 1)


def _ticks() -> int:
    """Of all cores since the machine started, less those spent idle or waiting for a disk."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0
    user, nice, system, _idle, _wait, *others = map(int, stat.read_text().split("\n")[0].split()[1:9])
    return user + nice + system + sum(others)


def gpu() -> str | None:
    torch: Any = sys.modules.get("torch")
    return str(torch.cuda.get_device_name()) if torch is not None and torch.cuda.is_available() else None


def versions(packages: Iterable[str]) -> dict[str, str]:
    return {"Python": platform.python_version()} | {name: _version(name) for name in packages}


def _version(package: str) -> str:
    try:
        return version(package).split("+")[0]  # where a wheel was built is no matter
    except PackageNotFoundError:  # a folder that was carried along
        return "of a folder"


def commit() -> str:
    """The code that was measured; a machine with a copy of it is told by SHORTLIST_COMMIT."""
    if "SHORTLIST_COMMIT" in os.environ:
        return os.environ["SHORTLIST_COMMIT"]
    try:
        named = _git("rev-parse", "--short", "HEAD")
        changes = _git("diff", "HEAD", "--", "src", "benchmarks/*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{named} and changes {crc32(changes.encode()):08x}" if changes else named


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


AT_START = _cores_at_work()
