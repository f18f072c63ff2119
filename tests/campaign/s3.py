# SPDX-License-Identifier: MIT
"""The S3 of a chain: a bucket of its own in a radosgw that all chains of a run share."""

import servers


class Bucket:
    """url: the URL of the bucket, with a slash at the end. environment: for commands that use it."""

    def __init__(self, said, name):
        self.client = servers.Client(said["S3_PLAIN"], said["S3_ACCESS"], said["S3_SECRET"])
        self.name, self.url = name, "s3://%s/" % name
        self.environment = servers.clean_environment()
        self.environment.update(AWS_ACCESS_KEY_ID=said["S3_ACCESS"], LC_ALL="C.UTF-8",
                                AWS_SECRET_ACCESS_KEY=said["S3_SECRET"],
                                AWS_ENDPOINT_URL=said["S3_PLAIN"], AWS_REGION="us-east-1")
        self.client.make_bucket(name)

    def put(self, prefix, files):
        self.client.put_tree(self.name, prefix, files)

    def objects(self, url):
        """Returns {name: bytes} below a prefix."""
        prefix = url[len(self.url):].rstrip("/") + "/"
        return self.client.get_tree(self.name, prefix)

    def remove(self):
        for key in self.client.list(self.name):
            self.client.delete(self.name, key)
        self.client.request("DELETE", "/" + self.name)
