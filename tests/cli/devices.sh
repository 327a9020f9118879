# weft devices and weft doctor: what programs can run on, with drivers that are false
# (tests/unit/fake_*.c), broken, and not there.
fakes=$(dirname "$weft")/unit
unset WEFT_OPENCL WEFT_CUDA WEFT_NVRTC FAKE_LACKS
expect 0 env WEFT_OPENCL=/nowhere/cl.so WEFT_CUDA=/nowhere/cu.so "$weft" devices
out_has 'cpu '
out_has 'opencl     (cannot run programs: $WEFT_OPENCL cannot be loaded: /nowhere/cl.so: '
out_has 'cuda       (cannot run programs: $WEFT_CUDA cannot be loaded: /nowhere/cu.so: '
err ''
expect 0 env WEFT_OPENCL="$fakes/fake_cuda.so" "$weft" devices
out_has "fake_cuda.so has no clGetPlatformIDs"
expect 1 sh -c "'$weft' devices >/dev/full"
expect 2 "$weft" devices all
expect 0 "$weft" devices --help

export WEFT_OPENCL="$fakes/fake_opencl.so" WEFT_CUDA="$fakes/fake_cuda.so" \
    WEFT_NVRTC="$fakes/fake_cuda.so"
expect 0 "$weft" devices
if grep -q 'built without OpenCL' stdout; then
    skipped=$((skipped + 1))
else
    out_has 'opencl:0   False Device, 2 cores, 0.1 GB, False Platform 1.0'
    expect 0 env FAKE_LACKS=f64 "$weft" devices
    out_has '1.0 (cannot run programs: it has no f64)'
    expect 0 env FAKE_LACKS=platforms "$weft" devices
    out_has 'opencl     (cannot run programs: OpenCL has no device here'
    expect 0 env FAKE_LACKS=patience "$weft" devices # it ends the program
    out_has 'cpu '
    out_has 'opencl     (cannot run programs: OpenCL has no device here'
    err_has 'weft devices: a driver of OpenCL ends programs that ask for it (Aborted)'
    expect 0 "$weft" doctor
    out_has 'ok       opencl     opencl:0: False Device, False Platform 1.0'
    expect 0 env FAKE_LACKS=fma "$weft" doctor
    out_has 'missing  opencl     opencl:0: False Device: it has no fused multiply-add'
fi
expect 0 env WEFT_NVRTC=/nowhere/rtc.so "$weft" devices
out_has 'CUDA 12.4 (cannot run programs: $WEFT_NVRTC cannot be loaded: /nowhere/rtc.so'
expect 0 "$weft" devices
out_has 'cuda:0     False GPU, 2 cores, 0.3 GB, CUDA 12.4, NVRTC 12.3'
expect 0 "$weft" doctor
out_has 'ok       cuda       cuda:0: False GPU, CUDA 12.4, NVRTC 12.3'
expect 0 env WEFT_OPENCL=/nowhere/cl.so WEFT_CUDA="$fakes/fake_opencl.so" "$weft" doctor -s
out_has 'missing  opencl     opencl: $WEFT_OPENCL cannot be loaded'
out_has 'missing  cuda       cuda: '
out_has 'get: NVIDIA'
out_has 'passed, 0 failed'
out_has 'Weft runs here; what is missing it can do without.'
unset WEFT_OPENCL WEFT_CUDA WEFT_NVRTC
