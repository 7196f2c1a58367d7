using System.Diagnostics;
using System.Security.Cryptography;

namespace Leads;

/// <summary>One call: a request, repeated until an answer or a bound settles it.</summary>
internal sealed class Call
{
    internal const string ProductName = "leads-dotnet";

    private readonly HttpClient _http;
    private readonly LeadsClientOptions _options;
    private readonly CancellationToken _cancellation;
    private readonly TimeSpan _deadline;
    private readonly long _started;
    private int? _status;
    private string? _code;
    private string? _detail;
    private bool _unknownOutcome;
    private bool _isBegun;

    /// <exception cref="MisconfiguredException">An option of the call is wrong.</exception>
    internal Call(HttpClient http, LeadsClientOptions options, CallOptions? own, CancellationToken cancellation)
    {
        _http = http;
        _options = options;
        _cancellation = cancellation;
        _deadline = own?.Deadline ?? options.Deadline;
        LeadsClientOptions.CheckDuration(_deadline, "deadline");
        RequestId = own?.RequestId is { } given ? Arguments.RequestId(given) : $"{ProductName}-{RandomText()}";
        _started = options.TimeProvider.GetTimestamp();
    }

    internal string RequestId { get; }

    /// <summary>How many tries are spent.</summary>
    internal int Tries { get; private set; }

    /// <summary>What is left of the deadline; never negative.</summary>
    internal TimeSpan Remaining
    {
        get
        {
            var remaining = _deadline - _options.TimeProvider.GetElapsedTime(_started);
            return remaining > TimeSpan.Zero ? remaining : TimeSpan.Zero;
        }
    }

    /// <summary>
    /// Sends the request until <paramref name="settle"/> takes an answer. All others are judged here, in the
    /// contract's order.
    /// </summary>
    /// <exception cref="LeadsException">No answer settled the call.</exception>
    /// <exception cref="LeadsCanceledException">The caller canceled the call.</exception>
    internal async Task<T> RunAsync<T>(RequestTemplate template, Func<Answer, T?> settle)
        where T : class
    {
        var isLead = template.IdempotencyKey is not null;
        var limitedInARow = 0;
        while (true)
        {
            if (_cancellation.IsCancellationRequested)
            {
                throw Canceled();
            }

            var remaining = Remaining;
            if (remaining == TimeSpan.Zero)
            {
                throw Unavailable("The deadline has passed.");
            }

            var outcome = await TryAsync(template, remaining).ConfigureAwait(false);
            var answer = outcome.Answer;
            _status = outcome.Status;
            _code = answer?.Code;
            _detail = answer?.Detail;
            _unknownOutcome |= isLead && outcome.Sent && answer is null;

            Tries++;
            if (answer is not null && settle(answer) is { } result)
            {
                return result;
            }

            if (outcome.Refused is { } refused)
            {
                throw Refused(refused);
            }

            if (answer is null && _cancellation.IsCancellationRequested)
            {
                throw Canceled();
            }

            string reason;
            switch (answer?.Status)
            {
                case null:
                    reason = outcome.Problem!;
                    break;
                case >= 200 and < 300:
                    _unknownOutcome |= isLead;
                    reason = "An answer came that cannot be the service's.";
                    break;
                case 401:
                    throw new UnauthorizedException(Failure(
                        LeadsErrorKind.Unauthorized, "The service does not know the key, or it was revoked."));
                case 422 when isLead && answer.Fields is { } fields:
                    throw new InvalidLeadException(
                        Failure(LeadsErrorKind.InvalidLead, "The service refused fields of the lead; see Fields."),
                        fields);
                case 429:
                    reason = "The service asks to wait longer than the deadline allows.";
                    break;
                case >= 500 and < 600:
                    reason = "The service could not take it.";
                    break;
                default:
                    throw Refused("The answer must not be repeated.");
            }

            var isLimited = answer?.Status == 429;
            var retryAfter = isLimited || answer?.Status >= 500
                ? Waits.RetryAfter(answer!.Headers, _options.TimeProvider.GetUtcNow())
                : null;
            TimeSpan wait;
            if (isLimited)
            {
                Tries--;
                limitedInARow++;
                wait = Waits.AfterRateLimit(limitedInARow, _options.Random(), retryAfter);
            }
            else
            {
                limitedInARow = 0;
                if (Tries >= _options.Tries)
                {
                    throw Unavailable(reason, outcome.Cause);
                }

                wait = Waits.BeforeRetry(Tries, _options.Random(), retryAfter);
            }

            if (wait >= Remaining)
            {
                throw Unavailable(reason, outcome.Cause);
            }

            Observe(_options.OnWait, new WaitEvent(wait, isLimited, RequestId));
            await DelayAsync(wait).ConfigureAwait(false);
        }
    }

    internal LeadsCanceledException Canceled() =>
        new(Failure(LeadsErrorKind.Canceled, "The call was canceled."), _cancellation);

    internal UnavailableException Unavailable(string reason, Exception? cause = null) =>
        new(Failure(LeadsErrorKind.Unavailable, reason, cause));

    private static string RandomText() =>
        RandomNumberGenerator.GetString("abcdefghijklmnopqrstuvwxyz0123456789", 16);

    private static void Observe<T>(Action<T>? observer, T observed)
    {
        try
        {
            observer?.Invoke(observed);
        }
        catch (Exception)
        {
            // An observer must not cost the caller the outcome of a post.
        }
    }

    /// <summary>One try, bounded by its own time-out in real time and by what remains of the call.</summary>
    private async Task<Outcome> TryAsync(RequestTemplate template, TimeSpan remaining)
    {
        _isBegun = true;
        var began = Stopwatch.GetTimestamp();
        using var ends = CancellationTokenSource.CreateLinkedTokenSource(_cancellation);
        ends.CancelAfter(remaining < _options.TryTimeout ? remaining : _options.TryTimeout);
        var outcome = await new Exchange().SendAsync(_http, template, ends.Token).ConfigureAwait(false);
        Observe(_options.OnTry, new TryEvent(
            template.Method.Method, outcome.Status, Stopwatch.GetElapsedTime(began), RequestId));
        return outcome;
    }

    private async Task DelayAsync(TimeSpan wait)
    {
        try
        {
            await Task.Delay(wait, _options.TimeProvider, _cancellation).ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            throw Canceled();
        }
    }

    private RefusedException Refused(string reason) => new(Failure(LeadsErrorKind.Refused, reason));

    private Failure Failure(LeadsErrorKind kind, string reason, Exception? cause = null) => new()
    {
        Kind = kind,
        Reason = reason,
        Cause = cause,
        Status = _status,
        Code = _code,
        Detail = _detail,
        RequestId = _isBegun ? RequestId : null,
        Tries = Tries,
        UnknownOutcome = _unknownOutcome,
    };
}
