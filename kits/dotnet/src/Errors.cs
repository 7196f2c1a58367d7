using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Leads;

/// <summary>What to do about a failed call.</summary>
public enum LeadsErrorKind
{
    /// <summary>401: the service does not accept the key. Alert a person.</summary>
    Unauthorized,

    /// <summary>422: fields are wrong. Correct the lead and post it with the same idempotency key.</summary>
    InvalidLead,

    /// <summary>Any other answer that must not be repeated.</summary>
    Refused,

    /// <summary>Tries or deadline are spent. Try later, with the same idempotency key.</summary>
    Unavailable,

    /// <summary>The caller canceled the call. Try later, with the same idempotency key.</summary>
    Canceled,

    /// <summary>The key, the address or an argument is wrong; nothing was sent.</summary>
    Misconfigured,
}

/// <summary>
/// What every failed call tells, whether it threw a <see cref="LeadsException"/> or, when it was canceled, a
/// <see cref="LeadsCanceledException"/>.
/// </summary>
public interface ILeadsError
{
    /// <summary>What to do.</summary>
    LeadsErrorKind Kind { get; }

    /// <summary>The HTTP status of the last try's answer; null when none came.</summary>
    int? Status { get; }

    /// <summary>The service's code in that answer, such as <c>rate_limited</c>; null when it is not the service's.</summary>
    string? Code { get; }

    /// <summary>
    /// What that answer says is wrong, a sentence for people; null when it says nothing. Do not parse it. It
    /// appears in no message and no string form.
    /// </summary>
    string? Detail { get; }

    /// <summary>The <c>X-Request-Id</c> that was sent; null when nothing was.</summary>
    string? RequestId { get; }

    /// <summary>How many tries the call spent. A 429 spends none.</summary>
    int Tries { get; }

    /// <summary>
    /// True once a post went out and no answer of the service came back: the lead may be stored. Posting it again
    /// with the same idempotency key is safe and tells.
    /// </summary>
    bool UnknownOutcome { get; }
}

/// <summary>A call failed. Each kind has a class of its own. No message or string form shows the key or the lead.</summary>
public abstract class LeadsException : Exception, ILeadsError
{
    private readonly Failure _failure;

    private protected LeadsException(Failure failure)
        : base(failure.Message, failure.Cause) => _failure = failure;

    /// <inheritdoc/>
    public LeadsErrorKind Kind => _failure.Kind;

    /// <inheritdoc/>
    public int? Status => _failure.Status;

    /// <inheritdoc/>
    public string? Code => _failure.Code;

    /// <inheritdoc/>
    public string? Detail => _failure.Detail;

    /// <inheritdoc/>
    public string? RequestId => _failure.RequestId;

    /// <inheritdoc/>
    public int Tries => _failure.Tries;

    /// <inheritdoc/>
    public bool UnknownOutcome => _failure.UnknownOutcome;
}

/// <summary>401: the service does not know the key, or it was revoked. Alert a person.</summary>
public sealed class UnauthorizedException : LeadsException
{
    internal UnauthorizedException(Failure failure)
        : base(failure)
    {
    }
}

/// <summary>422: correct the lead and post it with the same idempotency key, which was not used up.</summary>
public sealed class InvalidLeadException : LeadsException
{
    internal InvalidLeadException(Failure failure, IReadOnlyDictionary<string, string> fields)
        : base(failure) => Fields = fields;

    /// <summary>Each failing field and its reason: <c>required</c>, <c>too_long</c> or <c>out_of_range</c>.</summary>
    public IReadOnlyDictionary<string, string> Fields { get; }
}

/// <summary>An answer that must not be repeated: read its status and code.</summary>
public sealed class RefusedException : LeadsException
{
    internal RefusedException(Failure failure)
        : base(failure)
    {
    }
}

/// <summary>Tries or deadline are spent. Try later, with the same idempotency key.</summary>
public sealed class UnavailableException : LeadsException
{
    internal UnavailableException(Failure failure)
        : base(failure)
    {
    }
}

/// <summary>The key, the address or an argument is wrong. Nothing was sent.</summary>
public sealed class MisconfiguredException : LeadsException
{
    internal MisconfiguredException(string message)
        : base(new Failure { Kind = LeadsErrorKind.Misconfigured, Reason = message })
    {
    }
}

/// <summary>
/// The caller canceled the call: an <see cref="OperationCanceledException"/> that also tells what is known of the
/// lead.
/// </summary>
public sealed class LeadsCanceledException : OperationCanceledException, ILeadsError
{
    private readonly Failure _failure;

    internal LeadsCanceledException(Failure failure, CancellationToken cancellationToken)
        : base(failure.Message, cancellationToken) => _failure = failure;

    /// <inheritdoc/>
    public LeadsErrorKind Kind => LeadsErrorKind.Canceled;

    /// <inheritdoc/>
    public int? Status => _failure.Status;

    /// <inheritdoc/>
    public string? Code => _failure.Code;

    /// <inheritdoc/>
    public string? Detail => _failure.Detail;

    /// <inheritdoc/>
    public string? RequestId => _failure.RequestId;

    /// <inheritdoc/>
    public int Tries => _failure.Tries;

    /// <inheritdoc/>
    public bool UnknownOutcome => _failure.UnknownOutcome;
}

/// <summary>What the exceptions are made of.</summary>
[DebuggerDisplay("{Message,nq}")]
internal sealed class Failure
{
    internal required LeadsErrorKind Kind { get; init; }

    /// <summary>A sentence of the kit's own, free of content.</summary>
    internal required string Reason { get; init; }

    /// <summary>An exception that cannot quote what was sent or received.</summary>
    internal Exception? Cause { get; init; }

    internal int? Status { get; init; }

    internal string? Code { get; init; }

    internal string? Detail { get; init; }

    internal string? RequestId { get; init; }

    internal int Tries { get; init; }

    internal bool UnknownOutcome { get; init; }

    internal string Message
    {
        get
        {
            var notes = new List<string>();
            if (Status is { } status)
            {
                notes.Add(Code is null ? $"status {status}" : $"status {status} {Code}");
            }

            if (RequestId is not null)
            {
                notes.Add($"request id {RequestId}");
            }

            if (Tries > 0)
            {
                notes.Add(Tries == 1 ? "1 try" : string.Create(CultureInfo.InvariantCulture, $"{Tries} tries"));
            }

            if (UnknownOutcome)
            {
                notes.Add("outcome unknown");
            }

            var text = new StringBuilder(Reason);
            if (notes.Count > 0)
            {
                text.Append(" (").AppendJoin(", ", notes).Append(')');
            }

            return text.ToString();
        }
    }
}
