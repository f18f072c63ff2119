# SPDX-License-Identifier: MIT
"""tools/engines: many workers pack one plan, to a bucket and to a shared directory. One of them is killed in the
middle of its part and tried again, and a part is run twice. The result must equal that of `sheaf pack` on one
machine, byte for byte.

Slurm (several nodes on this machine) and Open MPI are real. Kubernetes, AWS Batch and SageMaker are not available
here. The tests run the commands of the manifest and of the scripts as these services would, and boto3 checks the
scripts' requests against the services' own models."""

import concurrent.futures
import contextlib
import io
import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from engines import ENGINES, IMAGES, PARTS, Engine, environment_of, poll, text_of
from support import ROOT, read, write

SLURM = os.path.join(ROOT, "tests", "slurm", "slurm.sh")


# ---- Slurm ---------------------------------------------------------------------------------------

class Slurm(Engine):
    @classmethod
    def share(cls):
        cls.cluster = tempfile.mkdtemp(prefix="sheaf-slurm-", dir="/tmp")   # a short path
        cls.addClassCleanup(shutil.rmtree, cls.cluster, ignore_errors=True)
        done = subprocess.run([SLURM, "start", cls.cluster], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        if done.returncode == 77:
            raise unittest.SkipTest(done.stdout.decode().strip())
        if done.returncode != 0:
            raise RuntimeError(done.stdout.decode())
        cls.addClassCleanup(subprocess.run, [SLURM, "stop", cls.cluster], check=True)
        super().share()

    def setUp(self):
        super().setUp()
        self.env["SLURM_CONF"] = os.path.join(self.cluster, "slurm.conf")

    def ask(self, *words):
        return subprocess.run(list(map(str, words)), env=self.env, check=True, timeout=300,
                              cwd=self.folder, stdout=subprocess.PIPE).stdout.decode()

    def submit(self, plan):
        """Submits the array. Returns the environment and the number of the worker that has stopped in the middle of a
        part."""
        subprocess.run([os.path.join(ENGINES, "slurm.sh"), plan, str(PARTS),
                        "--output=" + self.path("log"), "--chdir=" + self.folder],
                       env=self.stalling(), check=True, timeout=60, stdout=subprocess.PIPE)
        pid = self.stalled()
        return environment_of(pid), pid

    def assert_packed(self, plan, job):
        """Checks that the queue becomes empty, and that the lost task has run twice."""
        task = "%s_%s" % (job["SLURM_ARRAY_JOB_ID"], job["SLURM_ARRAY_TASK_ID"])
        poll("all jobs", lambda: not self.ask("squeue", "-h", "-o", "%i"))
        self.assertIn("Restarts=1 ", self.ask("scontrol", "show", "job", task))
        try:
            self.assert_done(plan)
        except AssertionError:
            print(text_of(self.path("log")), self.ask("scontrol", "show", "job"))
            raise

    def test_a_killed_worker(self):
        plan = self.plan_in_bucket()
        job, pid = self.submit(plan)
        self.run_again(plan, (int(job["SLURM_ARRAY_TASK_ID"]) + 1) % PARTS)
        self.assert_unfinished(plan)
        self.end(pid)
        self.assert_packed(plan, job)

    def test_all_twice_at_once(self):
        """Packs with an array and with the ranks of one job at the same time. The environment tells each its part."""
        plan = self.plan_in_directory()
        options = ["--output=" + self.path("log"), "--open-mode=append"]
        self.ask("sbatch", "--array=5-11:2", *options, "--wrap", "sheaf pack --plan " + plan)
        self.ask("srun", "--quiet", "-n", PARTS, "-N", "2", *options, "sheaf", "pack", "--plan", plan)
        poll("all jobs", lambda: not self.ask("squeue", "-h", "-o", "%i"))
        log = text_of(self.path("log"))
        for part in range(PARTS):
            for source in ("SLURM_ARRAY_TASK_ID", "SLURM_PROCID and SLURM_NTASKS"):
                self.assertIn("part %d of %d, by %s" % (part, PARTS, source), log)
        self.sheaf("commit", plan)
        self.assert_done(plan)

    def test_the_guide_s_job_scripts(self):
        """Runs the scripts of the guide, changed only in paths and in the size of the cluster."""
        page = text_of(os.path.join(ROOT, "doc", "many-machines.md"))
        page = page[page.index("## Slurm"):].replace("/lustre", self.folder)
        pack, submit, train = re.findall(r"^```\n(.*?)^```", page, re.S | re.M)[:3]
        for name, text in ("pack.sbatch", pack), ("train.sbatch", train):
            text = re.sub(r"--cpus-per-task=\d+", "--cpus-per-task=1", text)
            text = re.sub(r" --gpus-per-node=\d+", "", text)
            text = re.sub(r"--ntasks-per-node=\d+", "--ntasks-per-node=2", text)
            write(self.path(name), re.sub(r"0-15", "0-%d" % (PARTS - 1), text).encode())
        os.symlink(self.tree, self.path("images"))
        subprocess.run(["sh", "-euc", submit], env=self.env, check=True, timeout=60,
                       cwd=self.folder, stdout=subprocess.PIPE)
        poll("all jobs", lambda: not self.ask("squeue", "-h", "-o", "%i"))
        keys = self.sheaf("cat", self.path("shards"), "--list").stdout.splitlines()
        self.assertEqual(len(keys), IMAGES)

        write(self.path("train.py"), b"""import os, subprocess
with open("rank-" + os.environ["SLURM_PROCID"], "wb") as file:
    assert os.environ["MASTER_ADDR"] and os.environ["MASTER_PORT"]
    subprocess.run(["sheaf", "cat", "shards", "--list", "--remainder", "keep"], stdout=file)
""")
        self.ask("sbatch", "train.sbatch")
        poll("all jobs", lambda: not self.ask("squeue", "-h", "-o", "%i"))
        parts = [read(self.path("rank-%d" % rank)).splitlines() for rank in range(4)]
        self.assertEqual(sorted(sum(parts, [])), sorted(keys))

    def is_back(self, node):
        """It is, or is told to be: whether it comes back by itself depends on who is first."""
        if self.ask("sinfo", "-h", "-N", "-n", node, "-o", "%T").strip() == "idle":
            return True
        subprocess.run(["scontrol", "update", "nodename=" + node, "state=resume"], env=self.env,
                       stderr=subprocess.DEVNULL)
        return False

    def test_a_lost_node(self):
        plan = self.plan_in_directory()
        job, _ = self.submit(plan)
        node = job["SLURMD_NODENAME"]
        self.run_again(plan, (int(job["SLURM_ARRAY_TASK_ID"]) + 1) % PARTS)
        self.assert_unfinished(plan)
        subprocess.run([SLURM, "crash", self.cluster, node], check=True)
        self.ask("scontrol", "update", "nodename=" + node, "state=down", "reason=crashed")
        self.assert_packed(plan, job)
        subprocess.run([SLURM, "boot", self.cluster, node], check=True)
        poll("the node", lambda: self.is_back(node))


# ---- MPI -----------------------------------------------------------------------------------------

@unittest.skipUnless(shutil.which("mpirun"), "no mpirun here (Debian package openmpi-bin)")
class Mpi(Engine):
    def check(self, plan):
        env = dict(self.stalling(), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   TMPDIR="/tmp")
        with open(self.path("log"), "wb") as log:
            mpirun = subprocess.Popen(
                [os.path.join(ENGINES, "mpirun.sh"), plan, str(PARTS), "--oversubscribe"],
                env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        with mpirun:
            try:
                pid = self.stalled()
                rank = int(environment_of(pid)["OMPI_COMM_WORLD_RANK"])
                self.run_again(plan, (rank + 1) % PARTS)
                self.assert_unfinished(plan)
                self.end(pid)
                status = mpirun.wait(timeout=300)
            finally:
                mpirun.kill()
        log = text_of(self.path("log"))
        self.assertEqual(status, 0, log)
        self.assertIn("signal 9", log)
        self.assert_done(plan)

    def test_in_a_bucket(self):
        self.check(self.plan_in_bucket())

    def test_in_a_directory(self):
        self.check(self.plan_in_directory())


# ---- Services that are not to be had here --------------------------------------------------------

class Containers(Engine):
    """Runs a container for each part as the service would, with the environment that names the part. A killed
    container is started again."""

    def run_one(self, command, env):
        for restarts in range(3):
            done = subprocess.run(command, env=env, timeout=300, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode != -signal.SIGKILL:
                self.assertEqual(done.returncode, 0, done.stdout.decode())
                return restarts
        self.fail("killed each time")

    def run_all(self, commands, environments):
        """Runs all containers, and the second one once more. One is killed in the middle of its part."""
        pairs = list(zip(commands, environments))
        stalling = self.stalling(IMAGES // len(pairs) // 2)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = [pool.submit(self.run_one, command, {**stalling, **env})
                    for command, env in pairs + pairs[1:2]]
            self.end(self.stalled())
            self.assertEqual(sum(one.result() for one in done), 1)


class Kubernetes(Containers):
    def jobs(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no yaml module here (Debian package python3-yaml)")
        with open(os.path.join(ENGINES, "kubernetes.yaml"), encoding="utf-8") as file:
            return list(yaml.safe_load_all(file))

    def test_the_manifest(self):
        """Runs the manifest unchanged, in the bucket that it names."""
        pack_job, commit_job = self.jobs()
        self.bucket = "bucket"
        self.client.make_bucket(self.bucket)
        plan = self.plan_in_bucket()
        for job in (pack_job, commit_job):
            self.assertEqual((job["apiVersion"], job["kind"]), ("batch/v1", "Job"))
            self.assertEqual(job["spec"]["template"]["spec"]["restartPolicy"], "Never")
        self.assertEqual(pack_job["spec"]["completionMode"], "Indexed")
        parts = pack_job["spec"]["completions"]
        container = pack_job["spec"]["template"]["spec"]["containers"][0]
        env = {variable["name"]: variable["value"] for variable in container["env"]}
        self.run_all([container["command"]] * parts,
                     [{**env, "JOB_COMPLETION_INDEX": str(i)} for i in range(parts)])
        commit = commit_job["spec"]["template"]["spec"]["containers"][0]["command"]
        self.assertEqual(self.run_one(commit, self.env), 0)
        self.assert_done(plan)


class Answer(io.BytesIO):
    """The object that botocore takes for the body of a response."""

    def stream(self, **_):
        return iter([self.read()])


class Amazon(Containers):
    """Runs the scripts with the real boto3 until it would send a request. boto3 has then checked the request against
    the service's model."""

    def run_script(self, name, words, service, answers):
        """Returns the requests, [(operation, body)]. answers: {operation: body}."""
        try:
            import boto3
            from botocore.awsrequest import AWSResponse
        except ImportError:
            self.skipTest("no boto3 here (Debian package python3-boto3)")
        requests = []

        def send(request, **_):
            operation = request.headers.get("X-Amz-Target", b"").decode().rpartition(".")[2] or \
                request.url.rpartition("/")[2]
            requests.append((operation, json.loads(request.body)))
            return AWSResponse(request.url, 200, {},
                               Answer(json.dumps(answers[operation]).encode()))

        session = boto3.Session("key", "secret", region_name="us-east-1")
        session.events.register("before-send." + service, send)
        with mock.patch.object(boto3, "DEFAULT_SESSION", session), \
                mock.patch.object(sys, "argv", [name, *map(str, words)]), \
                contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(os.path.join(ENGINES, name), run_name="__main__")
        return requests

    def test_batch(self):
        plan = self.plan_in_bucket()
        _, (_, array), (_, commit) = self.run_script(
            "batch.py", [plan, PARTS, "queue", "image", "arn:aws:iam::123456789012:role/sheaf"],
            "batch", {"registerjobdefinition": {"jobDefinitionName": "sheaf", "revision": 1,
                                                "jobDefinitionArn": "arn:sheaf:1"},
                      "submitjob": {"jobName": "job", "jobId": "the-array"}})
        self.assertEqual(commit["dependsOn"], [{"jobId": "the-array"}])
        size = array["arrayProperties"]["size"]
        self.run_all([array["containerOverrides"]["command"]] * size,
                     [{"AWS_BATCH_JOB_ARRAY_INDEX": str(i), "AWS_BATCH_JOB_ARRAY_SIZE": str(size)}
                      for i in range(size)])
        self.run_one(commit["containerOverrides"]["command"], self.env)
        self.assert_done(plan)

    def test_sagemaker_processing(self):
        plan = self.plan_in_directory()
        status = {"ProcessingJobName": "sheaf", "ProcessingJobStatus": "Completed"}
        requests = self.run_script(
            "sagemaker.py", [plan, PARTS, "image", "arn:aws:iam::123456789012:role/sheaf"],
            "sagemaker", {"CreateProcessingJob": {"ProcessingJobArn": "arn:sheaf"},
                          "DescribeProcessingJob": status})
        jobs = [body for operation, body in requests if operation == "CreateProcessingJob"]
        pack_job, commit_job = jobs
        count = pack_job["ProcessingResources"]["ClusterConfig"]["InstanceCount"]
        commands, environments = zip(*(self.instance(
            pack_job["AppSpecification"]["ContainerEntrypoint"], host, count)
            for host in range(count)))
        self.run_all(commands, environments)
        self.assertEqual(
            commit_job["ProcessingResources"]["ClusterConfig"]["InstanceCount"], 1)
        self.run_one(commit_job["AppSpecification"]["ContainerEntrypoint"], self.env)
        self.assert_done(plan)

    @staticmethod
    def instance(command, number, count):
        """Returns the command and environment of an instance, in a file system of its own with /opt/ml. If this is
        not allowed, returns the variables of the service's own images."""
        hosts = sorted("algo-%d" % (i + 1) for i in range(count))
        if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/opt"],
                          stderr=subprocess.DEVNULL).returncode != 0:
            return command, {"SM_HOSTS": json.dumps(hosts), "SM_CURRENT_HOST": hosts[number]}
        config = json.dumps({"current_host": hosts[number], "hosts": hosts})
        return ["unshare", "-rm", "sh", "-c", """
                mount -t tmpfs tmpfs /opt && mkdir -p /opt/ml/config &&
                echo "$1" >/opt/ml/config/resourceconfig.json && shift && exec "$@"
                """, "sh", config, *command], {}
