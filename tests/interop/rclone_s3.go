// SPDX-License-Identifier: MIT

// rclone with what `rclone serve s3 DIRECTORY` needs, for install_servers.sh.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/serve"
	_ "github.com/rclone/rclone/cmd/serve/s3"
)

func main() { cmd.Main() }
