# SPDX-License-Identifier: MIT
"""sagemaker.py PLAN INSTANCES IMAGE ROLE-ARN

Packs PLAN with a SageMaker Processing job that has one instance for each part, and commits with a second job. If an
instance fails, its job fails. Run the script again; it packs only the missing shards."""

import sys
import time

import boto3


def run(sagemaker, step, command, instances, image, role):
    name = "sheaf-%s-%s" % (step, time.strftime("%Y-%m-%d-%H-%M-%S"))
    sagemaker.create_processing_job(
        ProcessingJobName=name, RoleArn=role,
        AppSpecification={"ImageUri": image, "ContainerEntrypoint": command},
        ProcessingResources={"ClusterConfig": {
            "InstanceCount": instances, "InstanceType": "ml.c5.4xlarge", "VolumeSizeInGB": 30}})
    while True:
        job = sagemaker.describe_processing_job(ProcessingJobName=name)
        if job["ProcessingJobStatus"] not in ("InProgress", "Stopping"):
            break
        time.sleep(30)
    print(name, job["ProcessingJobStatus"])
    if job["ProcessingJobStatus"] != "Completed":
        sys.exit(job.get("FailureReason") or job.get("ExitMessage") or 1)


def main(plan, instances, image, role):
    sagemaker = boto3.client("sagemaker")
    run(sagemaker, "pack", ["sheaf", "pack", "--plan", plan], instances, image, role)
    run(sagemaker, "commit", ["sheaf", "commit", plan], 1, image, role)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
