"""Machine codes as data: what AWS, Google, Azure, the kernel, Node, Windows and the providers call a failure.

Codes are compared without case and separators: `RESOURCE_EXHAUSTED`,
`ResourceExhausted` and `resource-exhausted` are one code.
"""

from __future__ import annotations

from mos.domain.taxonomy.causes import Cause, Rank

Entry = tuple[Cause, Rank]


def plain(code: str) -> str:
    """A code without case and separators."""
    return "".join(c for c in code.lower() if c.isalnum())


def _table(rank: Rank, lists: dict[Cause, str]) -> dict[str, Entry]:
    return {plain(code): (cause, rank) for cause, codes in lists.items() for code in codes.split()}


_CODES = _table(
    Rank.CODE,
    {
        Cause.DISK_FULL: """
            ENOSPC EDQUOT ERROR_DISK_FULL ERROR_HANDLE_DISK_FULL STATUS_DISK_FULL OutOfDiskSpace DiskFull
        """,
        Cause.HOST_MEMORY: """
            ENOMEM OOMKilled OutOfMemoryError OutOfMemoryException MemoryError ERR_WORKER_OUT_OF_MEMORY
            E_OUTOFMEMORY CUDA_ERROR_OUT_OF_MEMORY cudaErrorMemoryAllocation ERROR_NOT_ENOUGH_MEMORY
            STATUS_NO_MEMORY ERROR_COMMITMENT_LIMIT ERROR_NO_SYSTEM_RESOURCES CUDNN_STATUS_ALLOC_FAILED
            CUBLAS_STATUS_ALLOC_FAILED VK_ERROR_OUT_OF_DEVICE_MEMORY VK_ERROR_OUT_OF_HOST_MEMORY OutOfMemory
            InsufficientMemory
        """,
        Cause.HOST_FAULT: """
            EBUSY EMFILE ENFILE EROFS EIO EPERM ERROR_SHARING_VIOLATION ERROR_LOCK_VIOLATION
            CannotPullContainerError ResourceInitializationError CannotStartContainerError ETXTBSY
            CannotCreateVolumeError SpotInterruption CannotInspectContainerError ContainerRuntimeError ErrImagePull
            ImagePullBackOff Evicted DiskPressure
        """,
        Cause.EXPIRED: """
            ExpiredToken ExpiredTokenException RequestExpired ExpiredRequest TokenRefreshRequired
            RequestTimeTooSkewed TokenExpired ExpiredIdTokenException
        """,
        Cause.TRANSFER: """
            BadDigest IncompleteBody XAmzContentSHA256Mismatch XAmzContentChecksumMismatch Md5Mismatch NoSuchUpload
            InvalidPart ERR_CONTENT_LENGTH_MISMATCH storage/retry-limit-exceeded storage/server-file-wrong-size
            ChecksumMismatch FlexibleChecksumError storage/invalid-checksum
            S3UploadFailedError S3TransferFailedError
        """,
        Cause.NETWORK: """
            ECONNRESET ECONNREFUSED ECONNABORTED EPIPE ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENETDOWN
            EHOSTDOWN ENETRESET EADDRNOTAVAIL EAI_FAIL UND_ERR_SOCKET ERR_NETWORK ERR_SOCKET_CLOSED EPROTO
            ERR_CONNECTION_RESET ERR_CONNECTION_REFUSED ERR_NAME_NOT_RESOLVED ERR_INTERNET_DISCONNECTED
            ERR_NETWORK_CHANGED ERR_CONNECTION_CLOSED ERR_EMPTY_RESPONSE ERR_HTTP2_STREAM_ERROR
            ERR_HTTP2_STREAM_CANCEL ERR_HTTP2_GOAWAY_SESSION ERR_SSL_PROTOCOL_ERROR WSAECONNRESET WSAECONNREFUSED
            WSAENOTCONN ERROR_NETNAME_DELETED ERROR_BAD_NETPATH EndpointConnectionError ConnectionClosedError
            NetworkingError UND_ERR_CLOSED ResponseStreamingError InvalidChunkLength IncompleteReadError IncompleteRead
            ERR_STREAM_PREMATURE_CLOSE
            UND_ERR_RES_CONTENT_LENGTH_MISMATCH ERR_HTTP2_ERROR
        """,
        Cause.SERVER: """
            THIRD_PARTY.UNAVAILABLE overloaded_error OverloadedError ServerOverloaded server_error api_error
            InternalServerError INTERNAL.BAD_OUTPUT.CODE01 INTERNAL.BAD_OUTPUT.CODE02 model_overloaded
            engine_overloaded ServiceUnavailableException ModelNotReadyException ModelTimeoutException
            InternalServerException service_unavailable ServiceUnavailable InternalFailure ModelErrorException
            system_busy GENERATION_ERROR_TIMEOUT system_overloaded system_error downstream_service_error
            downstream_service_unavailable runner_connection_timeout runner_connection_refused runner_disconnected
            runner_scheduling_failure runner_server_error generation_timeout startup_timeout
        """,
        Cause.THROTTLE: """
            rate_limit_exceeded RateLimitExceeded userRateLimitExceeded rate_limit_error TooManyRequestsException
            Throttling ThrottlingException ThrottledException RequestThrottled RequestThrottledException SlowDown
            ProvisionedThroughputExceededException RequestLimitExceeded BandwidthLimitExceeded RequestRateTooLarge
            RequestRateTooHigh EC2ThrottledException PriorRequestNotComplete LimitRequestRate ServerBusy
            requests_per_minute_limit_exceeded tokens_per_minute concurrent_limit_exceeded
            too_many_concurrent_requests Throttling.RateQuota Throttling.AllocationQuota LimitBurstRate
            concurrency_limit_exceeded KmsThrottled OverLimit too_many_requests TooManyRequests rateLimited
            TransactionInProgressException RateLimit
        """,
        Cause.TIMEOUT: """
            RequestTimeout RequestTimeoutException OperationTimedOut
        """,
        Cause.STRANDED: """
            ReceiptHandleIsInvalid MessageNotInflight SCHEDULE_TO_START ScheduleToStart AbandonedJobError
            MaxAttemptsExceededException TaskStoppedBeforeStart DeadLettered TaskFailedToStart AgentLost WorkerLost
            JobStalled MaxReceiveCountExceeded MaxDeliveryCountExceeded ZombieJob
        """,
        Cause.OBJECT_MISSING: """
            NoSuchKey NoSuchBucket NoSuchVersion BlobNotFound ContainerNotFound storage/object-not-found
            storage/bucket-not-found InvalidObjectState NoSuchObject objectNotFound BlobArchived
            ObjectNotInActiveTierError ShareNotFound
        """,
        Cause.REFUSED: """
            SAFETY IMAGE_SAFETY PROHIBITED_CONTENT IMAGE_PROHIBITED_CONTENT BLOCKLIST SPII RECITATION
            IMAGE_RECITATION content_policy_violation content_filter moderation_blocked content_violation
            ResponsibleAIPolicyViolation DataInspectionFailed data_inspection_failed ContentFilter safety_violation
            sensitive_words_detected nsfw_content_detected content_moderation_failed policy_violation
            input_moderation output_moderation moderation_error content_moderated CONTENT_FILTERED content_policy
            InappropriateContent can_not_generate_image_by_ai detected_unusual_activity celebrity_detected
            content_blocked moderation_failed sexual_content MODERATION_HARD MODERATION_SOFT content_against_policy
            risk_control guardrail_intervened
        """,
        Cause.FUNDS: """
            insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance
            insufficient_credits insufficient_funds CreditsError Arrearage AccountOverdue AccountOverdueError
            InsufficientBalance payment_required out_of_credits access_terminated spending_limit_reached
            billing_limit_user_error credit_limit_reached credits_exhausted exhausted_balance NoFreeQuota
            AllocationQuota.FreeTierOnly billingNotEnabled BILLING_DISABLED AccountIsDisabled free_quota_exhausted
            paid_plan_required subscription_required insufficient_user_quota pre_consume_token_quota_failed
            BillingDisabled credit_balance_too_low InsufficientCredits InsufficientAccountBalance
            usage_limit_reached billing_error
        """,
        Cause.AUTH: """
            invalid_api_key InvalidAccessKeyId UnrecognizedClientException InvalidClientTokenId API_KEY_INVALID
            authentication_error AuthFailure UnauthorizedOperation IncompleteSignature MissingAuthenticationToken
            MissingAuthenticationTokenException OptInRequired AuthorizationFailure AuthorizationPermissionMismatch
            invalid_authentication InvalidApiKey account_deactivated account_disabled organization_restricted
            AccountProblem AllAccessDisabled NotSignedUp invalid_organization SERVICE_DISABLED
            ACCESS_TOKEN_TYPE_UNSUPPORTED API_KEY_SERVICE_BLOCKED InvalidAccessKey NoCredentialsError
            CredentialsProviderError PartialCredentialsError invalid_grant InvalidIdentityToken storage/unauthorized
            storage/unauthenticated KMS.DisabledException invalid_client missing_permissions unusual_activity
            ip_not_allowed user_locked
        """,
        Cause.BAD_REQUEST: """
            model_not_found unsupported_model unsupported_country_region_territory context_length_exceeded
            string_above_max_length invalid_image invalid_image_url unsupported_parameter invalid_value
            missing_required_parameter ASSET.INVALID InvalidParameter voice_not_found DeploymentNotFound
            model_not_active invalid_model max_character_limit_exceeded text_too_long invalid_parameter_error
            invalid_prompt_length
        """,
        Cause.MEDIA: """
            AVERROR_INVALIDDATA UnidentifiedImageError DecompressionBombError image_parse_error unusable_media
            invalid_image_format invalid_video_format file_corrupted InvalidImageFormatException
        """,
        Cause.OWN_BUG: """
            MalformedXML ValidationException ParamValidationError InvalidMessageContents EntityTooLarge
            InvalidBucketName BatchRequestTooLong EmptyBatchRequest InvalidAttributeName InvalidBatchEntryId
            NumberParseException MethodNotAllowed ItemCollectionSizeLimitExceededException
            ConditionalCheckFailedException ERR_INVALID_ARG_TYPE ERR_INVALID_URL ERR_MODULE_NOT_FOUND
            MODULE_NOT_FOUND ERR_REQUIRE_ESM QueueDoesNotExist AWS.SimpleQueueService.NonExistentQueue
            SerializationException DuplicateKey ERR_ASSERTION ERR_OUT_OF_RANGE ERR_INVALID_ARG_VALUE
            EntityAlreadyExists ReadCountExceeded InvalidURI
        """,
    },
)
_WEAK = _table(
    Rank.WEAK_CODE,
    {
        Cause.SERVER: """
            UNAVAILABLE INTERNAL InternalError INTERNAL_ERROR DEADLINE_EXCEEDED ABORTED DATA_LOSS DeadlineExceeded
            OperationAborted InternalServerError ServiceUnavailableError ServerError TRY_AGAIN_LATER
            ModelStreamErrorException TaskTimeoutError NotWritablePrimary PrimarySteppedDown WriteConflict
            internal_server_error internal_error NetworkTimeout ExceededTimeLimit backendError InternalException
        """,
        Cause.THROTTLE: """
            RESOURCE_EXHAUSTED RateLimitError ResourceExhausted ModelRateLimitError TooManyRequestsError
        """,
        Cause.OBJECT_MISSING: """
            NOT_FOUND notFound NotFoundError NotFoundException not_found_error ResourceNotFoundException
        """,
        Cause.AUTH: """
            PERMISSION_DENIED UNAUTHENTICATED SignatureDoesNotMatch InvalidSignatureException AccessDenied
            AccessDeniedException AuthenticationError PermissionDeniedError permission_error AuthenticationFailed
            Unauthorized Forbidden InsufficientPermissions
        """,
        Cause.BAD_REQUEST: """
            INVALID_ARGUMENT FAILED_PRECONDITION OUT_OF_RANGE invalid_request_error BadRequestError BAD_REQUEST
            UnprocessableEntityError invalid_request InvalidArgument InvalidRequest InvalidParameterValue
            validation_error invalid_parameter invalid_input InvalidRequestException InvalidRequestError
            unprocessable_entity invalid_param
        """,
        Cause.OWN_BUG: """
            TypeError ReferenceError AttributeError IndexError NameError SyntaxError AssertionError
            NullPointerException NullReferenceException ZeroDivisionError UnboundLocalError ImportError
            ModuleNotFoundError KeyError NotImplementedError RecursionError UnicodeDecodeError UnicodeEncodeError
            JSONDecodeError RangeError IndexOutOfBoundsException ArrayIndexOutOfBoundsException ClassCastException
            NumberFormatException ALREADY_EXISTS UNIMPLEMENTED ArgumentNullException InvalidCastException
            KeyNotFoundException ArgumentOutOfRangeException IndexOutOfRangeException FormatException
            StackOverflowError NoSuchMethodError ClassNotFoundException ERR_INVALID_PROTOCOL AlreadyExists
        """,
    },
)
_GENERIC = _table(
    Rank.GENERIC,
    {
        Cause.TIMEOUT: """
            ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT
            ERR_TIMED_OUT ERR_CONNECTION_TIMED_OUT ReadTimeout ConnectTimeout WriteTimeout PoolTimeout
            ReadTimeoutError ConnectTimeoutError APITimeoutError ServerTimeoutError TimeoutError TimeoutException
            SocketTimeoutException HeadersTimeoutError BodyTimeoutError APIConnectionTimeoutError WSAETIMEDOUT
            ERR_SOCKET_TIMEOUT ServerSelectionTimeoutError AutoReconnect RetryError ERR_SOCKET_CONNECTION_TIMEOUT
            AsyncTimeout TaskTimeout
        """,
        Cause.NETWORK: """
            ConnectionResetError ConnectionRefusedError ConnectionAbortedError BrokenPipeError RemoteProtocolError
            ConnectError ReadError WriteError ClientConnectorError ServerDisconnectedError ClientPayloadError
            ProtocolError ChunkedEncodingError NewConnectionError gaierror SSLError SSLEOFError APIConnectionError
            RemoteDisconnected NameResolutionError MaxRetryError ConnectionException UnknownHostException
            SocketException ClientOSError ConnectionClosed ProxyError ClientConnectorDNSError
        """,
    },
)
CODES: dict[str, Entry] = {**_GENERIC, **_WEAK, **_CODES}
