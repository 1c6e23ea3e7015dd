"""Telling people: always a log line, and a webhook where one is configured."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import httpx

from mos import logs
from mos.domain.errors import ExternalServiceError

TIMEOUT = 5.0
"""Seconds for the whole call."""
log = logs.logger(__name__)


@dataclass(frozen=True)
class Notifier:
    """Sends notifications. `webhook` takes `{"text": …}` as Slack's incoming webhooks do.

    `&`, `<` and `>` are escaped as they ask, so that no error text can call a channel or set a link.
    """

    webhook: str | None = None

    def notify(self, *, severity: str, text: str, facts: dict[str, Any]) -> None:
        """Tell people.

        Raises:
            ExternalServiceError: the webhook did not take it; it stays in the outbox.
        """
        log.warning("notification", severity=severity, text=text, **facts)
        if self.webhook is None:
            return
        lines = "\n".join(f"{name}: {value}" for name, value in facts.items() if value)
        message = html.escape(f"[{severity}] {text}\n{lines}", quote=False)
        try:
            answer = httpx.post(self.webhook, json={"text": message}, timeout=TIMEOUT)
            answer.raise_for_status()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise ExternalServiceError(f"the webhook answered {status}", service="webhook", status=status) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ExternalServiceError(f"the webhook did not answer: {error}", service="webhook") from error
