# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# gnuplot -e "folder='build/bench/plots/native'" tests/bench/plots.gp
# One SVG for each of the .dat files that bench_report wrote, one line for each driver.
set terminal svg size 640,420 background "white"
set datafile missing "?"
set style data linespoints
set key left top
set grid
set logscale xy

files = "write-bandwidth send-bandwidth read-bandwidth send-latency read-latency write-rate-over-qps one-host-write-bandwidth one-host-send-latency"
titles = "'RDMA Write' 'Send' 'RDMA Read' 'Send latency' 'RDMA Read latency' '4 KiB RDMA Write over queue pairs' 'RDMA Write' 'Send latency'"
y_labels = "MiB/s MiB/s MiB/s µs µs messages/s MiB/s µs"

do for [i = 1:words(files)] {
    name = word(files, i)
    if (system("test -e '".folder."/".name.".dat' && echo yes") ne "yes") { continue }
    set title word(titles, i).(name[1:8] eq "one-host" ? ", within one host" : ", veth, MTU 1500")
    set xlabel (name eq "write-rate-over-qps" ? "queue pairs" : "bytes")
    set ylabel word(y_labels, i)
    set output folder."/".name.".svg"
    plot for [column = 2:6] folder."/".name.".dat" using 1:column title columnheader(column) linewidth 2
}
