// The trace recorder of rigpact in C#: Unity, Godot, any .NET. Needs the shared library of recorder.h beside the program
// (Unity: Assets/Plugins/…; Godot: beside the project file).
//
//     var recorder = new Rigpact.Recorder();
//     recorder.About("actor", name);
//     recorder.Open(path, new Rigpact.Header { Producer = "MyGame", ProducerVersion = "1.0", Fps = 60, Mode = "free" });
//     recorder.BeginFrame(step, seconds);
//     recorder.Stage("x_raw", state).Stage("y_norm", answer);        // float[] or double[], copied at once
//     recorder.EndFrame();
//     recorder.Dispose();
using System;
using System.Runtime.InteropServices;
using System.Text;

namespace Rigpact
{
    // null where unknown; docs/trace-format.md defines the hashes.
    public sealed class Header
    {
        public string Producer, ProducerVersion, BundleSha256, Mode, Clip, CompanionSha256, MeaningSha256, ConventionsSha256, ModelSha256, System;
        public double Fps;
    }

    public struct Counts
    {
        public long Written, Dropped, Refused, Lost, Stray, Segments;
    }

    // Any thread may call it; the calls of one frame come one after the other.
    public sealed class Recorder : IDisposable
    {
        private IntPtr own = Native.rigpact_create();

        public void About(string key, string value) { Native.rigpact_about(own, Utf8(key), Utf8(value)); }

        public bool Open(string path, Header header, int queueFrames = 64, bool waits = false)
        {
            string[] texts = {
                header.Producer, header.ProducerVersion, header.BundleSha256, header.Mode, header.Clip, header.CompanionSha256,
                header.MeaningSha256, header.ConventionsSha256, header.ModelSha256, header.System };
            var held = new GCHandle[texts.Length];
            var at = new IntPtr[texts.Length];
            for (int i = 0; i < texts.Length; ++i)
            {
                held[i] = GCHandle.Alloc(Utf8(texts[i]), GCHandleType.Pinned);
                at[i] = texts[i] == null ? IntPtr.Zero : held[i].AddrOfPinnedObject();
            }
            var given = new Native.Header {
                producer = at[0], producerVersion = at[1], bundle = at[2], fps = header.Fps, mode = at[3], clip = at[4], companion = at[5],
                meaning = at[6], conventions = at[7], model = at[8], system = at[9] };
            bool ok = Native.rigpact_open(own, Utf8(path), ref given, queueFrames, waits ? 1 : 0) != 0;
            foreach (GCHandle each in held) each.Free();
            return ok;
        }

        public bool BeginFrame(long number, double seconds, string mode = null)
        {
            return Native.rigpact_begin_frame(own, number, seconds, mode == null ? null : Utf8(mode)) != 0;
        }
        public Recorder Stage(string stage, float[] values)
        {
            Native.rigpact_stage_f32(own, Utf8(stage), values, values.Length);
            return this;
        }
        public Recorder Stage(string stage, double[] values)
        {
            Native.rigpact_stage_f64(own, Utf8(stage), values, values.Length);
            return this;
        }
        public bool EndFrame() { return Native.rigpact_end_frame(own) != 0; }
        public bool Close() { return Native.rigpact_close(own) != 0; }

        public Counts Counts
        {
            get
            {
                var all = new long[6];
                Native.rigpact_counts(own, all);
                return new Counts { Written = all[0], Dropped = all[1], Refused = all[2], Lost = all[3], Stray = all[4], Segments = all[5] };
            }
        }

        // The first thing that went wrong; null when nothing did.
        public string Problem
        {
            get
            {
                IntPtr text = Native.rigpact_problem(own);
                if (text == IntPtr.Zero) return null;
                int length = 0;
                while (Marshal.ReadByte(text, length) != 0) ++length;
                var bytes = new byte[length];
                Marshal.Copy(text, bytes, 0, length);
                return Encoding.UTF8.GetString(bytes);
            }
        }

        public void Dispose()
        {
            if (own != IntPtr.Zero) Native.rigpact_destroy(own);
            own = IntPtr.Zero;
            GC.SuppressFinalize(this);
        }
        ~Recorder() { Dispose(); }

        private static byte[] Utf8(string text) { return Encoding.UTF8.GetBytes((text ?? "") + "\0"); }
    }

    internal static class Native
    {
#if UNITY_IOS && !UNITY_EDITOR
        private const string Library = "__Internal";
#else
        private const string Library = "rigpact_recorder";
#endif
        [StructLayout(LayoutKind.Sequential)]
        internal struct Header
        {
            internal IntPtr producer, producerVersion, bundle;
            internal double fps;
            internal IntPtr mode, clip, companion, meaning, conventions, model, system;
        }

        [DllImport(Library)] internal static extern IntPtr rigpact_create();
        [DllImport(Library)] internal static extern void rigpact_destroy(IntPtr own);
        [DllImport(Library)] internal static extern void rigpact_about(IntPtr own, byte[] key, byte[] value);
        [DllImport(Library)] internal static extern int rigpact_open(IntPtr own, byte[] path, ref Header header, int queueFrames, int waits);
        [DllImport(Library)] internal static extern int rigpact_begin_frame(IntPtr own, long number, double seconds, byte[] mode);
        [DllImport(Library)] internal static extern void rigpact_stage_f32(IntPtr own, byte[] stage, float[] values, int count);
        [DllImport(Library)] internal static extern void rigpact_stage_f64(IntPtr own, byte[] stage, double[] values, int count);
        [DllImport(Library)] internal static extern int rigpact_end_frame(IntPtr own);
        [DllImport(Library)] internal static extern int rigpact_close(IntPtr own);
        [DllImport(Library)] internal static extern void rigpact_counts(IntPtr own, long[] counts);
        [DllImport(Library)] internal static extern IntPtr rigpact_problem(IntPtr own);
    }
}
