using System.Diagnostics;

namespace Leads;

/// <summary>Settings of a <see cref="LeadsClient"/>.</summary>
public sealed class LeadsClientOptions
{
    internal static readonly TimeSpan DefaultTryTimeout = TimeSpan.FromSeconds(20);

    /// <summary>The API key. Null: the environment's <c>LEADS_API_KEY</c>.</summary>
    [DebuggerBrowsable(DebuggerBrowsableState.Never)]
    public string? ApiKey { internal get; init; }

    /// <summary>
    /// The service's address, such as <c>https://leads.example</c>; a path is kept. Null: the environment's
    /// <c>LEADS_BASE_URL</c>. <c>http://</c> is accepted only for this machine.
    /// </summary>
    public string? BaseUrl { get; init; }

    /// <summary>Bounds a call with all its waits. Two minutes unless set; at most 24 days.</summary>
    public TimeSpan Deadline { get; init; } = TimeSpan.FromMinutes(2);

    /// <summary>
    /// Bounds one try, from connecting to the last byte of the answer. 20 seconds unless set, within which the
    /// service answers.
    /// </summary>
    public TimeSpan TryTimeout { get; init; } = DefaultTryTimeout;

    /// <summary>How many tries a call may spend. 5 unless set; 1 repeats nothing but what got a 429.</summary>
    public int Tries { get; init; } = 5;

    /// <summary>
    /// The clock by which deadlines and waits are reckoned, replaceable for tests. The time-out of a try is always
    /// real.
    /// </summary>
    public TimeProvider TimeProvider { get; init; } = TimeProvider.System;

    /// <summary>Draws the jitter of waits: numbers from 0 to 1. Called by several threads at once.</summary>
    public Func<double> Random { get; init; } = System.Random.Shared.NextDouble;

    /// <summary>Called when a try has ended. What it throws is ignored.</summary>
    public Action<TryEvent>? OnTry { get; init; }

    /// <summary>Called when a wait begins. What it throws is ignored.</summary>
    public Action<WaitEvent>? OnWait { get; init; }

    /// <exception cref="MisconfiguredException">With such settings no call could keep its promises.</exception>
    internal void Check()
    {
        CheckDuration(Deadline, "deadline");
        CheckDuration(TryTimeout, "time-out of a try");
        if (Tries < 1)
        {
            throw new MisconfiguredException("A call needs at least one try.");
        }
    }

    /// <exception cref="MisconfiguredException">The duration is not positive, or too long for a timer.</exception>
    internal static void CheckDuration(TimeSpan duration, string name)
    {
        if (duration <= TimeSpan.Zero || duration.TotalMilliseconds > int.MaxValue)
        {
            throw new MisconfiguredException($"The {name} is not positive, or longer than 24 days.");
        }
    }
}

/// <summary>What may differ from call to call.</summary>
public sealed record CallOptions
{
    /// <summary>Bounds this call with all its waits. Null: the client's.</summary>
    public TimeSpan? Deadline { get; init; }

    /// <summary>
    /// The <c>X-Request-Id</c>: 1 to 64 characters of printable ASCII, no space at either end. Null: the kit makes
    /// one.
    /// </summary>
    public string? RequestId { get; init; }
}

/// <summary>A try that has ended.</summary>
/// <param name="Method"><c>GET</c> or <c>POST</c>.</param>
/// <param name="Status">The answer's status; null when none came.</param>
/// <param name="Duration">How long the try took, by the real clock.</param>
/// <param name="RequestId">The <c>X-Request-Id</c> that was sent.</param>
public sealed record TryEvent(string Method, int? Status, TimeSpan Duration, string RequestId);

/// <summary>A wait that begins.</summary>
/// <param name="Duration">How long the call will wait.</param>
/// <param name="RateLimited">Whether it is the wait after a 429.</param>
/// <param name="RequestId">The call's <c>X-Request-Id</c>.</param>
public sealed record WaitEvent(TimeSpan Duration, bool RateLimited, string RequestId);
