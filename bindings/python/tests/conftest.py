"""Fixtures that several tests share."""

from __future__ import annotations

import importlib.util

import pytest


def pytest_report_header() -> list[str]:
    missing = [name for name in ("torch", "scipy") if importlib.util.find_spec(name) is None]
    return [f"!!! NOT TESTED: {name} is not installed" for name in missing]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if importlib.util.find_spec("torch") is None:
        terminalreporter.write_line("!!! NOT TESTED: torch is not installed", yellow=True, bold=True)
