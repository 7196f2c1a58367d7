using System.Text;

namespace Leads.Tests;

public class StrayAnswerTests
{
    [Fact]
    public async Task Bytes_that_come_before_a_post_is_written_are_not_taken_for_its_answer()
    {
        var strayIsDue = new TaskCompletionSource();
        using var server = new IntakeServer(async (request, stream) =>
        {
            var answer = IntakeServer.Accepted(request.Headers["Idempotency-Key"]);
            if (request.Headers["Idempotency-Key"] != "acme:1")
            {
                return answer;
            }

            await stream.WriteAsync(Encoding.UTF8.GetBytes(answer));
            await strayIsDue.Task;
            return IntakeServer.Accepted("of a stranger");
        });
        var handler = LeadsClient.CreateHandler();
        var filter = handler.PlaintextStreamFilter!;
        handler.PlaintextStreamFilter = async (context, cancellationToken) =>
            new LateWrite(await filter(context, cancellationToken), strayIsDue);
        using var client = new LeadsClient(new HttpClient(handler), server.Options());
        var lead = new Lead { FirstName = "Ada", LastName = "Lovelace", Phone = "+1 415 555 0100" };

        Assert.Equal("acme:1", (await client.PostLeadAsync(lead, "acme:1")).EventId);
        var second = await client.PostLeadAsync(lead, "acme:2");

        Assert.Equal(("acme:2", 1), (second.EventId, second.Tries));
        Assert.Equal(
            ["acme:1", "acme:2"], server.Requests.Select(request => request.Headers["Idempotency-Key"]));
    }

    /// <summary>Holds the second request back until what the handler reads meanwhile has come.</summary>
    private sealed class LateWrite(Stream inner, TaskCompletionSource strayIsDue) : Stream
    {
        private Task<int> _reading = Task.FromResult(0);
        private int _writes;

        public override bool CanRead => true;

        public override bool CanSeek => false;

        public override bool CanWrite => true;

        public override long Length => throw new NotSupportedException();

        public override long Position
        {
            get => throw new NotSupportedException();
            set => throw new NotSupportedException();
        }

        public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
        {
            _reading = inner.ReadAsync(buffer, cancellationToken).AsTask();
            return new ValueTask<int>(_reading);
        }

        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            if (++_writes == 2)
            {
                strayIsDue.SetResult();
                await _reading;
            }

            await inner.WriteAsync(buffer, cancellationToken);
        }

        public override Task FlushAsync(CancellationToken cancellationToken) => inner.FlushAsync(cancellationToken);

        public override void Flush() => inner.Flush();

        public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
            inner.Dispose();
            base.Dispose(disposing);
        }
    }
}
