# What the measurements over sockets share. Sourced by their `run` scripts: the thing measured is on core 0, the load on core 1.
rounds="${ROUNDS:-5}"
each="${SECONDS_EACH:-3}"
folder="$(mktemp -d)"
chmod 755 "$folder"
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; rm -rf "$folder"' EXIT

fail() { echo "bench: error: $*" >&2; exit 1; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# median (least to greatest) of the numbers on standard input
median() { sort -g | awk '{ a[NR] = $1 } END { printf "%.2f (%.2f to %.2f)", a[int((NR + 1) / 2)], a[1], a[NR] }'; }
middle() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
# kilobytes that a process has in memory now, and had at most
resident() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$1/status"; }

# nginx with one worker on core 0, which serves $folder/www on $nginx_port
start_nginx() {
  mkdir -p "$folder/www" "$folder/tmp"
  nginx_port="$(free_port)"
  cat >"$folder/nginx.conf" <<CONF
daemon off; worker_processes 1; pid $folder/nginx.pid; error_log $folder/error.log crit; worker_rlimit_nofile 65536;
events { worker_connections 16384; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; default_type application/octet-stream;
  client_body_temp_path $folder/tmp; proxy_temp_path $folder/tmp; fastcgi_temp_path $folder/tmp;
  uwsgi_temp_path $folder/tmp; scgi_temp_path $folder/tmp;
  open_file_cache max=20000;
  server { listen 127.0.0.1:$nginx_port; root $folder/www; }
}
CONF
  taskset -c 0 nginx -e "$folder/error.log" -c "$folder/nginx.conf" &
  pids+=($!)
  for _ in $(seq 100); do curl -s "http://127.0.0.1:$nginx_port/" >/dev/null && break; sleep 0.1; done
  nginx_pid="$(pgrep -P "$(cat "$folder/nginx.pid")")" && return
  fail 'nginx does not answer'
}

# `carrel serve` on core 0, with one worker and no access log unless `carrel_options` says otherwise; sets $carrel_pid and $carrel_url
carrel_options=(--http-workers 1 --no-http-access-log)
start_carrel() { # program home [option…]
  local program="$1" home="$2"
  shift 2
  taskset -c 0 "$program" serve --home "$home" --port 0 "${carrel_options[@]}" "$@" >"$folder/carrel.out" 2>"$folder/carrel.err" &
  carrel_pid=$!
  pids+=("$carrel_pid")
  for _ in $(seq 100); do
    carrel_url="$(sed -n 's/^listening on //p' "$folder/carrel.out")"
    [ -n "$carrel_url" ] && return
    sleep 0.1
  done
  fail "carrel does not start: $(tail -1 "$folder/carrel.err")"
}

# processor time that a process has taken, in seconds
spent() { awk '{ print ($14 + $15) / 100 }' "/proc/$1/stat"; }

# wrk on core 1 over random lines of a file of paths, on a process: bytes in a second, requests in a second, 95th percentile in
# milliseconds, bytes in a second of the process's own time (which other work on the machine does not change)
load() { # pid base-url paths connections
  local pid="$1" before after
  shift
  cat >"$folder/load.lua" <<LUA
local paths = {}
for line in io.lines("$2") do paths[#paths + 1] = line end
math.randomseed(os.time())
request = function() return wrk.format("GET", paths[math.random(#paths)]) end
done = function(summary, latency)
  local failures = summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout
  io.write(string.format("figures %.0f %.1f %.3f %.0f %d\n", summary.bytes / summary.duration * 1e6, summary.requests / summary.duration * 1e6,
    latency:percentile(95) / 1000, summary.bytes, failures))
end
LUA
  local answer
  before="$(spent "$pid")"
  answer="$(taskset -c 1 wrk -t1 -c"$3" -d"$each" -s "$folder/load.lua" "$1" | sed -n 's/^figures //p')"
  [ "${answer##* }" = 0 ] || fail "$1 answers with errors: $answer"
  after="$(spent "$pid")"
  awk -v before="$before" -v after="$after" '{ print $1, $2, $3, $4 / (after - before) }' <<<"$answer"
}
