# SPDX-License-Identifier: MIT
"""batch.py PLAN PARTS QUEUE IMAGE ROLE-ARN

Packs PLAN with an AWS Batch array job that has one child for each part. A second job waits for the first and commits.
A child that fails, or whose machine is reclaimed, is tried again."""

import sys

import boto3


def main(plan, parts, queue, image, role):
    batch = boto3.client("batch")
    definition = batch.register_job_definition(
        jobDefinitionName="sheaf", type="container", retryStrategy={"attempts": 4},
        containerProperties={
            "image": image, "jobRoleArn": role,
            "command": ["sheaf", "--version"],          # each job replaces this command
            "resourceRequirements": [{"type": "VCPU", "value": "4"},
                                     {"type": "MEMORY", "value": "2048"}]})

    def submit(name, command, **more):
        return batch.submit_job(
            jobName=name, jobQueue=queue, jobDefinition=definition["jobDefinitionArn"],
            containerOverrides={"command": command}, **more)["jobId"]

    pack = submit("sheaf-pack", ["sheaf", "pack", "--plan", plan],
                  arrayProperties={"size": parts})
    commit = submit("sheaf-commit", ["sheaf", "commit", plan], dependsOn=[{"jobId": pack}])
    print("pack %s, commit %s" % (pack, commit))


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
