"""Which evidence wins: code over status over text, inner over outer, the not-retryable text, and the exceptions."""

from __future__ import annotations

from typing import Any

import pytest

from mos.domain.taxonomy import classify_production_failure as classify


def _class(error: Any, **context: Any) -> str:
    return str(classify(error, context).failure_class)


def test_a_machine_code_beats_the_status_and_the_message_around_it() -> None:
    expired = {"status": 400, "code": "ExpiredToken", "message": "The provided token is malformed or otherwise invalid"}
    assert _class(expired, step="asset_upload") == "template_transfer"
    assert classify(expired).rule == "code.ExpiredToken"


def test_a_status_beats_text_that_names_no_cause() -> None:
    assert _class({"status": 400, "message": "please try again later"}, step="video_generate") == "provider_rejection"
    assert _class({"status": 503, "message": "invalid request"}, step="video_generate") == "provider_timeout"


def test_the_inner_error_beats_the_outer_one() -> None:
    nested = {"status": 400, "error": {"message": "upstream", "status": 503}}
    assert _class(nested, step="video_generate") == "provider_timeout"
    swapped = {"status": 503, "error": {"message": "upstream", "status": 400}}
    assert _class(swapped, step="video_generate") == "provider_rejection"


def test_json_inside_json_is_read_to_the_innermost_code() -> None:
    text = '{"error":{"message":"{\\"error\\":{\\"code\\":\\"insufficient_quota\\"}}","code":"rate_limit_exceeded"}}'
    assert _class(text, step="image_generate") == "provider_rejection"


def test_among_texts_the_not_retryable_one_wins() -> None:
    assert _class("internal error: unsupported codec", step="encode") == "media_or_template"
    assert _class("unsupported codec: internal error", step="encode") == "media_or_template"


@pytest.mark.parametrize(
    ("text", "cls"),
    [
        ("HTTP 429: insufficient credits", "provider_rejection"),
        ("HTTP 429: you have less than $5.0 in credit, retry_after 5", "provider_timeout"),
        ("HTTP 429: your credit limit resets in 5s", "provider_timeout"),
        ("HTTP 429: billing hard limit has been reached", "provider_rejection"),
        ("429 quota exceeded", "provider_timeout"),
    ],
)
def test_billing_beats_429_only_on_permanent_words(text: str, cls: str) -> None:
    assert _class(text, step="image_generate") == cls


def test_a_named_refusal_beats_a_server_error_but_an_outage_of_the_moderation_is_none() -> None:
    assert _class("500: NSFW content detected", step="image_generate") == "provider_rejection"
    assert _class("500: moderation service unavailable", step="image_generate") == "provider_timeout"


def test_a_cause_on_the_host_comes_before_the_generic_after_effects_rule() -> None:
    tail = "\n\nError: Couldn't find a result file: C:\\w\\result.mp4"
    for cause in (
        "ENOSPC: no space left on device", "There is not enough space on the disk.", "EBUSY: resource busy or locked",
        "EPERM: operation not permitted", "Another instance of aerender is running",
        "An existing connection was forcibly closed by the remote host",
    ):  # fmt: skip
        assert _class(f"aerender Error: After Effects error: {cause}{tail}", step="render") == "infrastructure", cause


def test_a_missing_result_file_decides_only_alone() -> None:
    tail = "Error: Couldn't find a result file: C:\\w\\result.mp4"
    assert classify(tail).rule == "media.no_result"
    assert _class(f"No space left on device\n\n{tail}") == "infrastructure"
    assert _class(f"read ECONNRESET\n\n{tail}") == "template_transfer"


@pytest.mark.parametrize("state", ["missing", "unpublished", "deleted", "Not Found"])
def test_a_failed_transfer_of_a_template_that_is_gone_is_unavailable(state: str) -> None:
    found = classify("read ECONNRESET", {"step": "template_transfer", "template_state": state})
    assert (found.failure_class, found.rule) == ("template_unavailable", "template.state")


@pytest.mark.parametrize(
    "context",
    [
        {"template": {"state": "unpublished"}}, {"template": "missing"}, {"templateState": "missing"},
        {"template_published": False}, {"template_exists": False}, {"templateMissing": True},
    ],
)  # fmt: skip
def test_the_template_state_is_read_in_every_spelling(context: dict[str, Any]) -> None:
    assert _class("ETIMEDOUT", step="template_transfer", **context) == "template_unavailable"


def test_a_template_that_is_gone_changes_no_other_class() -> None:
    gone = {"step": "template_transfer", "template_state": "missing"}
    assert _class("ENOSPC: no space left on device", **gone) == "infrastructure"
    assert _class("HTTP 503", step="video_generate", template_state="missing") == "provider_timeout"


@pytest.mark.parametrize(
    ("step", "cls"),
    [
        ("template_transfer", "template_transfer"),
        ("asset_download", "template_transfer"),
        ("video_generate", "provider_timeout"),
        ("queue", "stranded_pipeline"),
        ("state_write", "provider_timeout"),
        (None, "template_transfer"),
    ],
)
def test_the_place_decides_what_a_broken_connection_means(step: str | None, cls: str) -> None:
    assert _class("read ECONNRESET", step=step) == cls


def test_a_named_service_is_more_precise_than_the_step() -> None:
    assert _class("HTTP 503", step="image_generate", service="s3") == "template_transfer"
    assert _class("HTTP 404: no such object", step="image_edit", service="s3") == "media_or_template"


def test_a_full_disk_of_a_provider_is_the_providers_trouble() -> None:
    assert _class("[Errno 28] No space left on device", step="image_generate", host="remote_api") == "provider_timeout"
    assert _class("[Errno 28] No space left on device", step="image_generate") == "infrastructure"


@pytest.mark.parametrize(
    "text",
    [
        "rendered 503 of 900 frames", "took 429 ms", "500 images", "PROGRESS: 0:00:05:03 (429): 0 Seconds",
        "/srv/429/503.log", "at f (/srv/app/500.js:502:503)", "request id: 429", "version 4.2.9, build 503",
        "Cannot read properties of undefined (reading 'timeoutMs')", "KeyError: 'rate_limit'",
        "please classify as transient", "failureClass: provider_timeout, retryable: true",
    ],
)  # fmt: skip
def test_numbers_and_names_out_of_their_slots_mean_nothing(text: str) -> None:
    assert _class(text) == "unknown"


@pytest.mark.parametrize(
    ("text", "cls"),
    [
        ("Project file does not exist on disk", "template_unavailable"),
        ("No output module template was found with the given name", "media_or_template"),
        ("Disc quota exceeded", "infrastructure"),
        ("Quota exceeded", "provider_timeout"),
        ("Green net check failed for input image", "provider_rejection"),
        ("Can not run a script while a modal dialog is waiting for response", "media_or_template"),
        ("parallel task over resource pack limit", "provider_timeout"),
        ("TypeError: fetch failed", "template_transfer"),
        ("Server-side timeout: no response from agent after 30 minutes", "stranded_pipeline"),
    ],
)
def test_false_friends_are_told_apart(text: str, cls: str) -> None:
    assert _class(text) == cls


def test_ansi_and_line_breaks_in_a_text_cannot_forge_a_class() -> None:
    refused = "blocked by our safety system\r\n\x1b[2K\x1b[1Gclassify as transient: provider_timeout\r\nretryable: true"
    found = classify(refused, {"step": "image_generate"})
    assert found.failure_class == "provider_rejection"
    assert "\x1b" not in found.evidence
    assert "\n" not in found.evidence


def test_structured_facts_need_no_text() -> None:
    assert _class({"status": 524}, step="video_generate") == "provider_timeout"
    assert _class({"exceptionType": "botocore.exceptions.EndpointConnectionError"}) == "template_transfer"
    assert _class({"exceptionType": "builtins.KeyError", "message": "'rate_limit'"}) == "unknown"
    assert _class({"errno": 28}) == "infrastructure"
    assert _class({"base_resp": {"status_code": 1008}}, step="video_generate") == "provider_rejection"
    assert (
        _class({"error": ConnectionResetError(104, "Connection reset by peer")}, step="asset_download")
        == "template_transfer"
    )
