using System.Runtime.CompilerServices;

namespace Leads;

/// <summary>
/// A connection after TLS, between <see cref="SocketsHttpHandler"/> and the network. It tells each
/// <see cref="Exchange"/> what the handler does not: whether bytes of its request went out, and how many interim
/// answers came. It stops a request that would go out a second time, or on a connection on which bytes came unasked.
/// </summary>
internal sealed class GuardedStream(Stream inner) : Stream
{
    private readonly byte[] _status = new byte["HTTP/1.1 200".Length];
    private Exchange? _exchange;
    private volatile bool _reading;
    private bool _inHead;
    private bool _inStatusLine;
    private int _lineBytes;

    public override bool CanRead => true;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        Begin();
        return inner.WriteAsync(buffer, cancellationToken);
    }

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override void Write(ReadOnlySpan<byte> buffer)
    {
        Begin();
        inner.Write(buffer);
    }

    public override void Write(byte[] buffer, int offset, int count) => Write(buffer.AsSpan(offset, count));

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public override async ValueTask<int> ReadAsync(
        Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        int count;
        _reading = true;
        try
        {
            count = await inner.ReadAsync(buffer, cancellationToken).ConfigureAwait(false);
        }
        finally
        {
            _reading = false;
        }

        ScanHeads(buffer.Span[..count]);
        return count;
    }

    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    public override int Read(Span<byte> buffer)
    {
        var count = inner.Read(buffer);
        ScanHeads(buffer[..count]);
        return count;
    }

    public override int Read(byte[] buffer, int offset, int count) => Read(buffer.AsSpan(offset, count));

    public override void Flush() => inner.Flush();

    public override Task FlushAsync(CancellationToken cancellationToken) => inner.FlushAsync(cancellationToken);

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            inner.Dispose();
        }

        base.Dispose(disposing);
    }

    /// <summary>Notes whose request is written, or stops it before its first byte.</summary>
    private void Begin()
    {
        // A request of another program's over the same handler is none of ours.
        if (Exchange.Current is not { } exchange || ReferenceEquals(exchange, _exchange))
        {
            return;
        }

        if (exchange.WasWritten)
        {
            throw new IOException("The handler repeats a request that went out already.");
        }

        // The handler awaits the next answer before it uses a connection again. If that read has ended, bytes came
        // that answer nothing, and they would be taken for the answer to this request.
        if (_exchange is not null && !_reading)
        {
            exchange.FoundStaleConnection();
            throw new IOException("The connection is not usable any more.");
        }

        exchange.BeginWriting();
        _exchange = exchange;
        _inHead = true;
        _inStatusLine = true;
        _lineBytes = 0;
    }

    /// <summary>Counts the interim answers before the real one.</summary>
    private void ScanHeads(ReadOnlySpan<byte> bytes)
    {
        while (_inHead && bytes.Length > 0)
        {
            var end = bytes.IndexOf((byte)'\n');
            var line = end < 0 ? bytes : bytes[..end];
            if (_inStatusLine && _lineBytes < _status.Length)
            {
                line[..Math.Min(line.Length, _status.Length - _lineBytes)].CopyTo(_status.AsSpan(_lineBytes));
            }

            _lineBytes += line.Length;
            if (end < 0)
            {
                return;
            }

            var isEmpty = _lineBytes == 0 || (_lineBytes == 1 && (end == 0 || line[^1] == (byte)'\r'));
            if (isEmpty)
            {
                EndHead();
            }
            else
            {
                _inStatusLine = false;
            }

            _lineBytes = 0;
            bytes = bytes[(end + 1)..];
        }
    }

    private void EndHead()
    {
        const int switchingProtocols = 101;
        var status = ((_status[^3] - '0') * 100) + ((_status[^2] - '0') * 10) + (_status[^1] - '0');
        _inHead = status is >= 100 and < 200 and not switchingProtocols;
        _inStatusLine = true;
        if (_inHead && !_exchange!.CountInterim(status))
        {
            throw new IOException("Too many interim answers came.");
        }
    }
}
