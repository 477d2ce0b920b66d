"""Takes managed jobs through their lives with the existing client's own SDK."""

import io

import sky
from sky.client import sdk


def launch(name, run):
    numbers, _ = sdk.get(sky.jobs.launch(sky.Task(run=run), name=name))
    return numbers[0] if isinstance(numbers, list) else numbers


def tell(number):
    """Waits for the end of a job, and says what became of it."""
    code = sdk.get(sky.jobs.wait(job_id=number, timeout=60))
    records = sdk.get(sky.jobs.queue_v2(refresh=False, job_ids=[number]))[0]
    for record in records:
        print(record["job_name"], record["status"], "code", int(code))


well = launch("well", "echo said by the job")
log = io.StringIO()
print("log ended with", int(sky.jobs.tail_logs(job_id=well, follow=True, output_stream=log)))
print(log.getvalue())
tell(well)
slow = launch("slow", "sleep 1000")
sdk.get(sky.jobs.cancel(job_ids=[slow]))
tell(slow)
