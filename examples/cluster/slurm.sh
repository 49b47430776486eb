#!/bin/bash
# Workers of Thresher on the nodes of a Slurm job: sbatch examples/cluster/slurm.sh /shared/clicks.svm
#SBATCH --job-name=thresher
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=2G
#SBATCH --time=02:00:00
set -euo pipefail

data=${1:?"the file of rows, under a path that every node has"}
port=6379
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${nodes[0]}
# The object store holds the models of a round; without a size Ray reserves 30 % of the memory.
store=$((512 * 1024 * 1024))

srun --nodes=1 --ntasks=1 --nodelist="$head" \
  ray start --head --node-ip-address="$head" --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" \
  --object-store-memory="$store" --block &
sleep 20
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 --nodelist="$node" \
    ray start --address="$head:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --object-store-memory="$store" --block &
done
sleep 20

# This process runs on the first node. Its checkpoint lets a second job with the same arguments continue.
thresher select "$data" -k 1000 \
  --workers $((SLURM_JOB_NUM_NODES * SLURM_CPUS_PER_TASK)) --cluster "$head:$port" \
  --memory 256MB --checkpoint "$data.checkpoint" --output "$data.thr"
