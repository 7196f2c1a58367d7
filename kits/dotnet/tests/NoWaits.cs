namespace Leads.Tests;

/// <summary>The clock of the README: it goes on by each wait and sleeps through none.</summary>
internal sealed class NoWaits : TimeProvider
{
    private long _skippedTicks;

    private TimeSpan Skipped => TimeSpan.FromTicks(Interlocked.Read(ref _skippedTicks));

    public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + Skipped;

    public override long GetTimestamp() =>
        base.GetTimestamp() + (long)(Skipped.TotalSeconds * TimestampFrequency);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        Interlocked.Add(ref _skippedTicks, dueTime.Ticks);
        return base.CreateTimer(callback, state, TimeSpan.Zero, period);
    }
}
